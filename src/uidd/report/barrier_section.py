"""The section with minima, saddles, paths and barriers."""

import numpy as np

from ..landscape import project
from ..models import Model
from ..plotting import Plane, barrier_map, barrier_profiles
from .analysis import Analysis
from .landscape_section import LEAST_DRAWS, labels
from .markup import Panel, Section, measured, number, table, text

MOST_ROWS = 20
MOST_DRAWN = 6
_TITLE = "How high the barriers are"


def barrier_section(model: Model, analysis: Analysis) -> Section:
    """A map with paths, the potential along them, and a table."""
    landscape = analysis.landscape
    if not landscape.barriers:
        count = len(landscape.minima)
        reason = {0: "No minimum was found.", 1: "The potential has one minimum: there is no barrier."}.get(
            count, f"Between the {count} minima no path settled on a saddle of index one."
        )
        return Section(_TITLE, reason)
    drawn = landscape.barriers[:MOST_DRAWN]
    ends = [landscape.ends(barrier) for barrier in drawn]
    lowest = landscape.minima[0].energy
    panels = []
    if model.dimension > 1:
        panels.append(_map_panel(model, analysis, drawn, lowest))
    panels.append(
        Panel(
            "Along the paths",
            "V along each path of steepest descent, from the lower minimum to the higher. Bars: 95 % of the "
            "ensemble for the height of the saddle.",
            barrier_profiles(
                [barrier.path.energies - lowest for barrier in drawn],
                [f"{a + 1} to {b + 1}" for a, b in ends],
                [barrier.standard_error for barrier in drawn],
            ),
        )
    )
    intro = (
        "Saddles are stationary points with exactly one negative eigenvalue; a search that ended elsewhere "
        "is left out. Heights are in kT, counted from each minimum; the error is the standard deviation over "
        "the ensemble."
    )
    return Section(_TITLE, intro, tuple(panels), "two", _table(model, analysis))


def _map_panel(model: Model, analysis: Analysis, drawn, lowest: float) -> Panel:
    draws = analysis.samples.states
    draws = draws[np.isfinite(draws).all(axis=1)]
    if len(draws) < LEAST_DRAWS:
        return Panel("Paths", f"Not drawn: only {len(draws)} stationary draws are finite.", None)
    axes = _telling_axes(model, analysis)
    some = draws[:: max(1, len(draws) // 5000)]
    reached = np.concatenate([some, *(barrier.path.points for barrier in drawn)])
    seen = project(model, axes, states=reached)
    names = [labels(model)[axis] for axis in axes]
    points = [point.x[list(axes)] for point in analysis.minima]
    least = "" if model.dimension == 2 else " V is minimised over the other coordinates."
    return Panel(
        "Paths",
        f"Crosses: minima, numbered by depth. Diamonds: saddles. Lines: paths of steepest descent.{least} "
        "White: neither stationary draws nor paths are near.",
        barrier_map(
            Plane(seen.grid[0], seen.grid[1], *names),
            seen.values.T - lowest,
            minima=np.array(points).reshape(-1, 2),
            saddles=np.array([b.saddle.x[list(axes)] for b in drawn if b.saddle]).reshape(-1, 2),
            paths=[barrier.path.points[:, list(axes)] for barrier in drawn],
        ),
    )


def _telling_axes(model: Model, analysis: Analysis) -> tuple[int, int]:
    """The two coordinates in which the minima differ most, in units of the model's scale."""
    if model.dimension == 2:
        return 0, 1
    spread = np.std([point.x for point in analysis.minima], axis=0) / np.asarray(model.scaling.scale)
    first, second = sorted(np.argsort(-spread)[:2])
    return int(first), int(second)


def _table(model: Model, analysis: Analysis) -> str:
    landscape = analysis.landscape
    head = ["from", "to", "height", "height on the way back", *labels(model), "eigenvalues at the saddle"]
    rows = []
    for barrier in landscape.barriers[:MOST_ROWS]:
        a, b = landscape.ends(barrier)
        if barrier.saddle is None:
            continue
        error = barrier.standard_error
        back = barrier.saddle.energy - barrier.minimum_b.energy
        known = f" ± {number(error, 2)}" if np.isfinite(error) else ""
        warning = "" if barrier.result.successful else f" ({text(barrier.result.message)})"
        values = barrier.saddle.eigenvalues
        shown = values if len(values) <= 4 else values[[0, 1, -1]]
        rows.append(
            [
                f"{a + 1}",
                f"{b + 1}",
                f"{measured(barrier.height, error) if known else number(barrier.height)}{known}{warning}",
                f"{number(back, 4)}",
                *(number(v, 4) for v in barrier.saddle.x),
                ", ".join(number(v, 3) for v in shown),
            ]
        )
    more = len(landscape.barriers) - MOST_ROWS
    rest = f"<p>{more} higher barriers are in metrics.json.</p>" if more > 0 else ""
    return "<h3>Barriers</h3>" + table(head, rows, label="Barriers") + rest
