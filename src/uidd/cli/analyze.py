"""`uidd analyze`: what a model says."""

from typing import TYPE_CHECKING, Any

from .options import RunPath, Seed

if TYPE_CHECKING:
    from ..report.analysis import Analysis


def analyze(run: RunPath, seed: Seed = 0) -> None:
    """Entropy production with error bar, minima, local rates.

    Example: uidd analyze runs/mine
    """
    from ..report.run_folder import RunFolder

    folder = RunFolder.open(run)
    analysis = analyzed(folder, seed)
    show(analysis, folder.config().get("exact"))
    print(f"Written to {folder.path / 'metrics.json'}. Next: uidd report {folder.path}")


def analyzed(folder: Any, seed: int) -> "Analysis":
    """Analyse a run and write its metrics."""
    from ..report.analysis import analyze as compute

    ensemble, summary = folder.ensemble(), folder.fit_summary()
    analysis = compute(ensemble, folder.held_out(), summary["total_time"], checks=folder.checks(), seed=seed)
    exact = folder.config().get("exact")
    folder.write_metrics(
        {
            **analysis.to_dict(),
            "training": summary,
            "analysis_seed": seed,
            **({"exact": exact} if exact else {}),
        }
    )
    return analysis


def show(analysis: "Analysis", exact: dict[str, Any] | None) -> None:
    """The table."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    headline = analysis.entropy_production
    table = Table(title="Entropy production rate (k_B per unit time)", title_justify="left")
    for name in ("estimate", "rate", "standard error", "95 % interval", "result"):
        table.add_column(name)
    low, high = headline.interval
    over = "recorded states" if analysis.stationary else "the model's e^-V"
    table.add_row(
        f"learned, mean over {over}",
        f"{headline.rate:.5g}",
        f"{headline.standard_error:.2g}",
        f"{low:.5g} to {high:.5g}",
        headline.result.code,
    )
    if analysis.stationary:
        beside = analysis.over_model
        cells = f"{beside.rate:.5g}", f"{beside.standard_error:.2g}", "", beside.result.code
        table.add_row("the same over the model's e^-V", *cells)
    if exact:
        table.add_row(f"exact ({exact['system']})", f"{exact['entropy_production']:.6g}", "", "", "")
    if analysis.counted is not None:
        counted = analysis.counted
        table.add_row(
            f"counting, {counted.bins} bins",
            f"{counted.rate:.4g}",
            f"{counted.standard_error:.2g}",
            "",
            counted.result.code,
        )
        table.add_row(
            "the same, data made reversible", f"{counted.null:.4g}", f"{counted.null_spread:.2g}", "", ""
        )
    console = Console()
    console.print(table)
    if not analysis.stationary:
        console.print(
            "Note: the recording is not stationary; the rate is the model's own stationary one, "
            "as far as the data reach."
        )
    if len(analysis.checks):
        console.print(_checks_table(analysis))
    counting = [] if analysis.counted is None else [analysis.counted.result]
    for result in {headline.result, analysis.samples.result, analysis.simulation.result, *counting}:
        if not result.successful:
            console.print(f"Note: {result.message}")
    if headline.result.successful and headline.interval[0] <= analysis.noise_floor:
        floor = f"{analysis.noise_floor:.2g}"
        console.print(f"Note: not distinguishable from equilibrium; noise alone may give {floor}.")
    minima = Table(title="Minima of the potential", title_justify="left")
    for name in ("x", "energy above the lowest", "smallest and largest eigenvalue"):
        minima.add_column(name)
    if not analysis.minima:
        minima.add_row("none found from the recorded states", "", "")
    for point in analysis.minima:
        place = ", ".join(f"{v:.4g}" for v in point.x)
        rise = point.energy - analysis.minima[0].energy
        minima.add_row(place, f"{rise:.4g}", f"{point.eigenvalues[0]:.4g}, {point.eigenvalues[-1]:.4g}")
    console.print(minima)
    low, middle, high = np.quantile(analysis.local, [0.05, 0.5, 0.95])
    print(
        f"Local entropy production over stationary draws: 5 % {low:.3g}, 50 % {middle:.3g}, 95 % {high:.3g}"
    )
    samples = analysis.samples
    print(
        f"Stationary draws: {len(samples)}, R-hat {samples.r_hat:.4f}, "
        f"effective {samples.effective_sample_size:.0f}, acceptance {samples.acceptance:.2f}"
    )


def _checks_table(analysis: "Analysis"):
    """What held-out transitions say, a line each."""
    from rich.table import Table

    table = Table(title="Checks of the fit", title_justify="left")
    all_pass = all(line.passed for line in analysis.checks)
    for name in ("check", "verdict", "chance", "V or rate off by", *([] if all_pass else ["what to do"])):
        table.add_column(name)
    for line in analysis.checks:
        advice = [] if all_pass else ["" if line.passed else line.advice]
        table.add_row(line.name, line.verdict, f"{line.chance:.2g}", line.off or "-", *advice)
    return table
