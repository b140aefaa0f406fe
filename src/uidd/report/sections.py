"""Training, comparison with data, and the table of minima."""

import numpy as np

from ..models import Model
from ..plotting import axis_label, marginals, training_curves, trajectories
from ..training import EpochRecord
from .analysis import Analysis
from .comparison import Comparison, compare
from .landscape_section import labels
from .markup import Panel, Section, measured, number, rate_unit, table, text, words

MOST_COORDINATES = 4
MOST_MINIMA = 20
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def training_section(history: list[EpochRecord], kept_epoch: int) -> Section:
    """Loss against step."""
    title = "How training went"
    if not history:
        return Section(title, "", (Panel("Loss", "Not drawn: the run holds no history.", None),), "one")
    kept = next(record for record in history if record.epoch == kept_epoch)
    caption = (
        "Negative log-likelihood of a step, in the model's own unit-size coordinates; lower is better, "
        "and the value itself has no meaning across data sets. The star marks the kept weights "
        f"({kept.step:,} steps or pairs, held out {number(kept.held_out, 5)}). The first point is the best "
        "linear model, "
    )
    if len(history) == 1:
        caption += "and no epoch followed."
    elif kept.epoch == 0:
        caption += "kept because held-out data did not call for more."
    else:
        caption += "the others are what it was refined to."
    return Section(title, "", (Panel("Loss", caption, training_curves(history, kept_epoch)),), "one")


def comparison_section(model: Model, analysis: Analysis) -> Section:
    """Paths over time and marginal distributions, coordinate by coordinate."""
    count = len(analysis.recorded)
    shown = min(model.dimension, MOST_COORDINATES)
    some = f" The first {shown} of {model.dimension} coordinates." if shown < model.dimension else ""
    intro = (
        f"The model starts where {count} recorded held-out paths start and runs for as long; thin lines "
        "are single "
        f"paths.{some}"
    )
    panels: list[Panel] = []
    for k in range(shown):
        compared = compare(analysis, k)
        name = text(model.coordinates[k] if model.coordinates else f"z{k + 1}")
        if compared is None:
            reason = f"Not drawn: no simulated path stayed finite. {text(analysis.simulation.result.message)}"
            panels.append(Panel(f"{name} over time", reason, None))
            continue
        panels.extend(_coordinate_panels(model, analysis, compared, k, name))
    return Section("Data against model", intro, tuple(panels), "wide-narrow")


def _coordinate_panels(
    model: Model, analysis: Analysis, compared: Comparison, k: int, name: str
) -> tuple[Panel, Panel]:
    label = labels(model)[k]
    draws = analysis.samples.states[:, k]
    draws = draws[np.isfinite(draws)]
    times = "Recorded paths were brought to common times by interpolation. " if compared.interpolated else ""
    floor = (
        ""
        if compared.floor is None
        else f"; two halves of the recording differ by {number(compared.floor, 2)}"
    )
    dotted = " Dotted: the stationary density." if len(draws) else " No stationary draw is finite."
    distance = (
        "Frames at the same times, recorded and simulated: Kolmogorov–Smirnov distance "
        f"<b>{number(compared.distance, 2)}</b>{floor}."
        f"{dotted}"
    )
    return (
        Panel(
            f"{name} over time",
            f"{times}Thick: mean. Shaded: 5–95 % of all paths.",
            trajectories(
                compared.recorded,
                compared.simulated,
                label=label,
                time_label=axis_label("time", model.time_unit),
            ),
        ),
        Panel(
            f"Distribution of {name}",
            distance,
            marginals(compared.recorded_frames, compared.simulated_frames, draws, label=label),
        ),
    )


def checks_section(model: Model, analysis: Analysis) -> Section:
    """What transitions that took no part say of the model, a line for every assumption."""
    title = "Does the model hold on data that it has not seen?"
    if not len(analysis.checks):
        return Section(title, "", after="<p>Not asked: this likelihood leaves no residuals to look at.</p>")
    intro = (
        "Residuals are independent standard normal numbers if the model is right. "
        "The chance is that of a misfit as large for a right model; the size says by how much V, or the "
        "rate, could be off. <b>small</b>: real, but too small to matter."
    )
    all_pass = all(line.passed for line in analysis.checks)
    rows = [
        [
            f'<span class="{"good" if line.passed else "bad"}">{"✓" if line.passed else "⚠"} '
            f"{words(line.name)}</span>",
            words(line.verdict),
            number(line.chance, 2),
            # Of a misfit that was not found the size is noise.
            f"{number(line.size, 2)} {rate_unit(model) if line.name == 'work' else 'kT'}"
            if line.verdict != "ok"
            else "-",
            *([] if all_pass else ["" if line.passed else text(line.advice)]),
        ]
        for line in analysis.checks
    ]
    head = ["", "verdict", "chance", "off by", *([] if all_pass else ["what to do"])]
    return Section(title, intro, after=table(head, rows, label="Checks of the fit"))


def numbers_section(model: Model, analysis: Analysis) -> Section:
    """The minima, and how local entropy production is distributed."""
    local = analysis.local[np.isfinite(analysis.local)]
    tables = _minima_table(model, analysis)
    if len(local):
        head = ["", *(f"{q:.0%}" for q in QUANTILES), "mean"]
        row = [f"s<sub>tot</sub> ({rate_unit(model)})"]
        row += [number(v, 4) for v in (*np.quantile(local, QUANTILES), local.mean())]
        tables += "<h3>Local entropy production over the stationary density</h3>"
        tables += table(head, [row], label="Quantiles of local entropy production")
    else:
        tables += "<p>The local entropy production is not finite at any draw.</p>"
    tables += (
        "<p>Check of the draws: the mean of the system's entropy production, which vanishes under the exact "
        f"stationary density, is {_checked(analysis)}.</p>"
    )
    return Section("Numbers", "", after=tables)


def _minima_table(model: Model, analysis: Analysis) -> str:
    title = "<h3>Minima of the potential</h3>"
    if not analysis.minima:
        return f"{title}<p>None was found by descent from recorded states.</p>"
    lowest = analysis.minima[0].energy
    head = ["", *labels(model), "V above the lowest", "eigenvalues of the Hessian"]
    rows = [
        [
            f"{k + 1}",
            *(number(v, 4) for v in point.x),
            number(point.energy - lowest, 4),
            _eigenvalues(point.eigenvalues),
        ]
        for k, point in enumerate(analysis.minima[:MOST_MINIMA])
    ]
    more = len(analysis.minima) - MOST_MINIMA
    rest = f"<p>{more} higher minima are in metrics.json.</p>" if more > 0 else ""
    return title + table(head, rows, label="Minima") + rest


def _eigenvalues(values: np.ndarray) -> str:
    if len(values) > 4:
        return f"{number(values[0], 3)} to {number(values[-1], 3)}"
    return ", ".join(number(v, 3) for v in values)


def _checked(analysis: Analysis) -> str:
    system = analysis.system_entropy
    if abs(system.rate) <= 1e-6 * max(abs(analysis.entropy_production.rate), 1e-30):
        return "0 up to rounding"
    return f"{measured(system.rate, system.standard_error)} ± {number(system.standard_error, 2)}"
