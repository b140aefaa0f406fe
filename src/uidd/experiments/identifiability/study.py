"""Who finds the same V twice? All models of the paper's Table 1, each from several seeds on the same data."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._checks import InputError
from ..._files import write_atomically, write_json
from ...data import Trajectories
from ...models import environment
from ..markdown import markdown_table
from .cases import CASES, MODELS, SIZES
from .trials import TEMPERATURES, Trial, trial, trial_file, truth_surface

__all__ = ["SIZES", "Agreement", "agreement", "reproduce", "table", "variation"]


@dataclass(frozen=True)
class Agreement:
    """What the fits of one model to one data set agree on.

    A variation is that of `variation`, over seeds; of single numbers it is the variance over the squared
    mean. NaN where there is nothing to compare.

    Attributes:
        case: The system.
        model: The model.
        seeds: How many fits.
        gradient: Variation of grad V, the mean over test points of the ratio at each.
        gradient_pooled: The same as a ratio of means, which points near the minima do not dominate.
        irreversible: Of f_irr, pooled.
        rate: Of the entropy production.
        barrier: Of the barrier, over the fits that have one.
        barriers: How many those are.
        mean_rate: The mean entropy production.
        mean_barrier: The mean barrier.
        drift_error: Relative to the exact drift, the mean over fits.
        gradient_error: Relative to the exact grad V, the mean over fits.
        test_loss: Held-out loss, the mean over fits.
    """

    case: str
    model: str
    seeds: int
    gradient: float
    gradient_pooled: float
    irreversible: float
    rate: float
    barrier: float
    barriers: int
    mean_rate: float
    mean_barrier: float
    drift_error: float
    gradient_error: float
    test_loss: float


def variation(fields: np.ndarray) -> tuple[float, float]:
    """Variance over squared mean of vectors (seeds, points, D): averaged over points, and pooled.

    >>> variation(np.array([[[1.0, 0.0]], [[3.0, 0.0]]]))
    (0.25, 0.25)
    """
    mean = fields.mean(axis=0)
    variance = ((fields - mean) ** 2).sum(axis=-1).mean(axis=0)
    square = (mean**2).sum(axis=-1)
    if not square.any():
        return float("nan"), float("nan")
    return float(np.mean(variance / square)), float(variance.mean() / square.mean())


def agreement(trials: list[Trial]) -> Agreement:
    """Of the fits of one model to one data set."""
    barriers = np.array([each.figures.get("barrier", np.nan) for each in trials], float)
    found = barriers[np.isfinite(barriers)]
    rates = np.array([each.figures["rate"] for each in trials])
    gradient, pooled = variation(np.stack([each.gradient for each in trials]))
    mean = {
        name: float(np.mean([each.figures[name] for each in trials]))
        for name in ("drift_error", "gradient_error", "test_loss")
    }
    return Agreement(
        case=trials[0].case,
        model=trials[0].model,
        seeds=len(trials),
        gradient=gradient,
        gradient_pooled=pooled,
        irreversible=variation(np.stack([each.irreversible for each in trials]))[1],
        rate=_variation_of_numbers(rates),
        barrier=_variation_of_numbers(found),
        barriers=len(found),
        mean_rate=float(rates.mean()),
        mean_barrier=float(found.mean()) if len(found) else float("nan"),
        **mean,
    )


def reproduce(
    size_name: str, folder: Path, *, seed: int, report: Callable[[str], None], config: dict[str, Any]
) -> str:
    """Fit what is not yet stored, compare, write; returns the table.

    Every fit is stored when it is made, so a run that was stopped goes on where it was.
    """
    size, made_by = SIZES[size_name], {"size": size_name, "environment": environment(), **config}
    found: dict[tuple[str, str], list[Trial]] = {}
    data: dict[str, Trajectories] = {}
    for case, model, k in size.trials():
        path = trial_file(folder, case, model, k)
        if path.exists():
            one, stored = Trial.read(path)
            if (stored["size"], one.seed) != (size_name, seed + k):
                what = f"trials of size {stored['size']!r} from seed {one.seed - k}"
                raise InputError(f"'{folder}' holds {what}. Choose another --out, or --overwrite it.")
        else:
            data = data if case in data else {case: size.data(CASES[case])}
            one = trial(size, case, model, seed + k, data[case])
            one.write(path, made_by)
        found.setdefault((case, model), []).append(one)
        figures = one.figures
        report(
            f"{case}, {model}, seed {k}: drift error {figures['drift_error']:.3f}, "
            f"held out {figures['test_loss']:.4f}, EPR {figures['rate']:.4g} ({figures['result']})"
        )
    _write(found, size_name, folder, {**config, "size": size_name, "seed": seed})
    return table(found)


def table(found: dict[tuple[str, str], list[Trial]]) -> str:
    """One table a system, then what the trials say of gauges, limits and equilibrium, as Markdown."""
    parts = [_system_table(name, found) for name in _driven(found)]
    return "\n\n".join([*parts, _freedom(found), _at_rest(found)])


def _driven(found: dict[tuple[str, str], list[Trial]]) -> list[str]:
    return [name for name, case in CASES.items() if case.driven and (name, "ours") in found]


def _system_table(name: str, found: dict[tuple[str, str], list[Trial]]) -> str:
    """What varies over seeds, then what is found on average; two tables, so that they fit on a page."""
    system = CASES[name].system
    height = f", barrier {system.barriers[0]:g}" if CASES[name].wells else ""
    varied: list[tuple[str, ...]] = [("variation of", "grad V", "grad V, pooled", "f_irr", "EPR", "barrier")]
    means: list[tuple[str, ...]] = [("mean of", "EPR", "barrier", "drift error", "grad V error", "held out")]
    for model in MODELS:
        if (name, model) not in found:
            continue
        one = agreement(found[name, model])
        spreads = (one.gradient, one.gradient_pooled, one.irreversible, one.rate, one.barrier)
        varied.append((model, *map(_number, spreads)))
        errors = (f"{one.drift_error:.3f}", f"{one.gradient_error:.3f}", f"{one.test_loss:.4f}")
        means.append((model, f"{one.mean_rate:.4g}", _barriers(one) if height else "", *errors))
    exact = f"**{name}**: exact EPR {system.entropy_production_rate:.4g}{height}"
    return "\n\n".join([exact, markdown_table(varied[0], varied[1:]), markdown_table(means[0], means[1:])])


def _freedom(found: dict[tuple[str, str], list[Trial]]) -> str:
    """Gauge and limit, over all trained OnsagerNets."""
    nets = [each for (_, model), trials in found.items() if model == "OnsagerNet" for each in trials]
    drift = max(each.figures["gauge_drift"] for each in nets)
    change = [each.figures["gauge_gradient"] for each in nets]
    limits = np.array([each.figures["limit"] for each in nets])
    rows = "; ".join(
        f"T = {T:g}: {low:.1e} to {high:.1e}"
        for T, low, high in zip(TEMPERATURES, limits.min(axis=0), limits.max(axis=0), strict=True)
    )
    return (
        f"Gauge: {len(nets)} trained OnsagerNets with phi(V) = V + log(1 + e^V), M / phi', W / phi' in place "
        f"of V, M, W: the drift differs by at most {drift:.1e} of itself, grad V by {min(change):.0%} to "
        f"{max(change):.0%}.\n\n"
        f"T -> 0: our temperature form with their V, M, W differs from their drift by {rows} of it."
    )


def _at_rest(found: dict[tuple[str, str], list[Trial]]) -> str:
    """Ours beside Stat-PINNs where nothing is driven."""
    lines = []
    for name, case in CASES.items():
        if case.driven or (name, "ours") not in found:
            continue
        ours, theirs = found[name, "ours"][0], found[name, "Stat-PINNs"][0]
        apart = np.linalg.norm(ours.gradient - theirs.gradient) / np.linalg.norm(theirs.gradient)
        rate, error = ours.figures["rate"], ours.figures["rate_error"]
        off = [each.figures["gradient_error"] for each in (ours, theirs)]
        lines.append(
            f"{name}: EPR {rate:.2g} +- {error:.2g}; grad V differs from Stat-PINNs' by {apart:.2%} (from "
            f"the exact one by {off[0]:.2%} and {off[1]:.2%}), "
            f"the held-out loss by {abs(ours.figures['test_loss'] - theirs.figures['test_loss']):.1e} nats."
        )
    return "In equilibrium ours is Stat-PINNs:\n\n" + "\n".join(f"- {line}" for line in lines)


def _write(
    found: dict[tuple[str, str], list[Trial]], size_name: str, folder: Path, config: dict[str, Any]
) -> None:
    from ...plotting.identifiability import identifiability_figure
    from ...plotting.style import png

    write_json(folder / "config.json", config)
    write_json(folder / "environment.json", environment())
    write_atomically(folder / "table.md", (table(found) + "\n").encode())
    for name in _driven(found):
        exact, grid = truth_surface(CASES[name], SIZES[size_name])
        surfaces = {model: [each.surface for each in found[name, model]] for model in MODELS}
        figure = identifiability_figure(name, grid, exact, surfaces)
        write_atomically(folder / f"potentials-{name.replace(' ', '-')}.png", png(figure))
    write_json(
        folder / "results.json",
        {
            "agreement": [asdict(agreement(trials)) for trials in found.values()],
            "trials": [
                {"case": each.case, "model": each.model, "seed": each.seed, **each.figures}
                for trials in found.values()
                for each in trials
            ],
        },
    )


def _variation_of_numbers(values: np.ndarray) -> float:
    if len(values) < 2 or not values.mean():
        return float("nan")
    return float(values.var() / values.mean() ** 2)


def _barriers(one: Agreement) -> str:
    mean = f"{one.mean_barrier:.3g} " if one.barriers else ""
    return f"{mean}({one.barriers} of {one.seeds})"


def _number(value: float) -> str:
    return f"{value:.1e}" if np.isfinite(value) else ""
