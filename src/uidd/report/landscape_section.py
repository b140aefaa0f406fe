"""The section with potential, fields and local entropy production."""

import numpy as np

from ..models import Model
from ..plotting import (
    Plane,
    axis_label,
    drift_curve,
    field_map,
    local_entropy_map,
    potential_curve,
    potential_map,
)
from ..plotting.field_map import arrow_time
from ..plotting.style import IRREVERSIBLE, REVERSIBLE
from .analysis import Analysis
from .maps import FieldMaps, line_curves, plane_maps, projected_maps, wider
from .markup import Panel, Section, number, rate_unit, text

LEAST_DRAWS = 100
_TITLE = "What the landscape looks like, and where entropy is produced"


def landscape_sections(model: Model, analysis: Analysis, frames: np.ndarray) -> list[Section]:
    """Curves for one coordinate, maps for two, projections for more.

    Args:
        model: The learned model.
        analysis: Its analysis.
        frames: Recorded states, (n, D).
    """
    draws = analysis.samples.states
    draws = draws[np.isfinite(draws).all(axis=1)]
    if len(draws) < LEAST_DRAWS:
        reason = f"Too few finite stationary draws ({len(draws)}) to say where the model can be believed."
        return [Section(_TITLE, "", (Panel("Potential and fields", reason, None),))]
    if model.dimension == 1:
        return [_line_section(model, analysis, draws)]
    if model.dimension == 2:
        return _plane_sections(model, analysis, draws, frames)
    return _projected_sections(model, analysis, draws)


def _line_section(model: Model, analysis: Analysis, draws: np.ndarray) -> Section:
    curves = line_curves(model, draws)
    label = labels(model)[0]
    lowest = min((point.energy for point in analysis.minima), default=0.0)
    minima = np.array([[point.x[0], point.energy - lowest] for point in analysis.minima]).reshape(-1, 2)
    velocity = axis_label("drift", _per_time(model, model.units[0] if model.units else ""))
    M = curves.dissipation
    caption = (
        f"The drift f = −M dV/dz + dM/dz; M between {number(M.min(), 3)} and {number(M.max(), 3)}. "
        "The irreversible field f<sub>irr</sub> and the local entropy production vanish everywhere: there "
        "is no "
        "antisymmetric 1 × 1 matrix."
    )
    return Section(
        _TITLE,
        "One coordinate: the model is a potential and a diffusion, with no room for a current.",
        (
            Panel(
                "Potential",
                f"V = −log(stationary density). {_crosses(analysis)}",
                potential_curve(curves.x, curves.potential, label=label, minima=minima),
            ),
            Panel("Drift", caption, drift_curve(curves.x, curves.drift, label=label, drift_label=velocity)),
        ),
    )


def _plane_sections(model: Model, analysis: Analysis, draws: np.ndarray, frames: np.ndarray) -> list[Section]:
    maps = plane_maps(model, draws)
    sections = [
        Section(
            _TITLE,
            "The learned model where its stationary density lives. White: the stationary state is hardly "
            "ever there, "
            "so nothing is asserted.",
            _panels(model, analysis, maps),
        )
    ]
    if wider(frames, draws):
        wide = plane_maps(model, draws, frames)
        sections.append(
            Section(
                "The same over all recorded states",
                "The recording reaches far beyond the stationary region, as paths that relax from distant "
                "starts do. White: "
                "neither stationary draws nor held-out frames are near.",
                _panels(model, analysis, wide)[:3],
                "three",
            )
        )
    return sections


def _projected_sections(model: Model, analysis: Analysis, draws: np.ndarray) -> list[Section]:
    all_maps = projected_maps(model, draws)
    total = model.dimension * (model.dimension - 1) // 2
    chosen = "all pairs" if total == len(all_maps) else f"the first {len(all_maps)} of {total} pairs"
    intro = (
        f"Projections on {chosen} of coordinates, made from the {len(draws):,} stationary draws: the "
        "potential is "
        "−log of their histogram, fields and local entropy production are means over the draws in a bin. "
        "White: "
        "too few draws."
    )
    sections = []
    for k, maps in enumerate(all_maps):
        x, y = (text(model.coordinates[axis]) for axis in maps.axes)
        title = _TITLE if k == 0 else ""
        head = f'{intro if k == 0 else ""}</p><h3>{x} and {y}</h3><p class="intro">'
        sections.append(Section(title, head, _panels(model, analysis, maps, height=330), "four"))
    return sections


def _panels(model: Model, analysis: Analysis, maps: FieldMaps, height: int = 400) -> tuple[Panel, ...]:
    """Potential, reversible field, irreversible field, local entropy production."""
    names = [labels(model, 22 if maps.projected else 40)[axis] for axis in maps.axes]
    plane, places = Plane(maps.x, maps.y, *names), Plane(maps.arrow_x, maps.arrow_y, *names)
    smooth = not maps.projected
    minima = np.array([point.x[list(maps.axes)] for point in analysis.minima]).reshape(-1, 2)
    inside = [
        plane.x_range[0] < x < plane.x_range[1] and plane.y_range[0] < y < plane.y_range[1] for x, y in minima
    ]
    potential = "−log of the draws' histogram." if maps.projected else "V = −log(stationary density)."
    fields = [
        (
            "Reversible field",
            "f<sub>rev</sub> = −M ∇V + div M, which alone would keep equilibrium.",
            maps.reversible,
            REVERSIBLE,
        ),
        (
            "Irreversible field",
            "f<sub>irr</sub> = −W ∇V + div W, the current velocity: where the stationary current carries "
            "the state.",
            maps.irreversible,
            IRREVERSIBLE,
        ),
    ]
    return (
        Panel(
            "Potential",
            f"{potential} {_crosses(analysis) if minima.size else ''}",
            potential_map(plane, maps.potential, minima=minima[inside], height=height, smooth=smooth),
        ),
        *(
            _field_panel(model, title, caption, plane, places, maps.potential, field, colour, height)
            for title, caption, field, colour in fields
        ),
        _entropy_panel(model, analysis, plane, maps.local_entropy, height, smooth),
    )


def _field_panel(model, title, caption, plane, places, potential, field, colour, height) -> Panel:
    if not np.isfinite(field).any():
        return Panel(title, "Not drawn: no bin holds enough draws for a mean.", None)
    time = arrow_time(places, field)
    if not time:
        return Panel(title, f"{caption} Not drawn: it is zero everywhere.", None)
    unit = f" {text(model.time_unit)}" if model.time_unit else " time units"
    note = f"arrow: shift in {number(time, 2)}{unit}"
    length = "Arrows longer than their spacing are shortened to it."
    figure = field_map(plane, potential, places, field, colour=colour, note=note, height=height)
    return Panel(title, f"{caption} {length}", figure)


def _entropy_panel(model: Model, analysis: Analysis, plane: Plane, local, height: int, smooth: bool) -> Panel:
    title = "Local entropy production"
    if not np.isfinite(local).any():
        return Panel(title, "Not drawn: no bin holds enough draws for a mean.", None)
    if not np.nanmax(local) > 0:
        return Panel(title, "Not drawn: it is zero everywhere.", None)
    cap = float(np.quantile(analysis.local[np.isfinite(analysis.local)], 0.995))
    highest = min(cap, float(np.nanmax(local)))
    capped = (
        f" Values above {number(cap, 3)} (0.5 % of the draws) share the last colour."
        if highest == cap
        else ""
    )
    unit = (
        rate_unit(model)
        .replace("k<sub>B</sub> per unit time", "k<sub>B</sub> / time")
        .replace(" per ", " / ")
    )
    caption = (
        "s<sub>tot</sub> = f<sub>irr</sub><sup>T</sup> M<sup>−1</sup> f<sub>irr</sub>, in "
        f"{rate_unit(model)}; its "
        f"mean under the stationary density is the headline.{capped}"
    )
    figure = local_entropy_map(plane, local, unit=unit, highest=highest, height=height, smooth=smooth)
    return Panel(title, caption, figure)


def labels(model: Model, longest: int = 40) -> list[str]:
    """Axis labels of all coordinates, of at most about `longest` characters."""
    units = model.units or ("",) * model.dimension
    names = model.coordinates or tuple(f"z{k + 1}" for k in range(model.dimension))
    return [axis_label(name, unit, longest=longest) for name, unit in zip(names, units, strict=True)]


def _per_time(model: Model, unit: str) -> str:
    return f"{unit or '1'} / {model.time_unit or 'time'}"


def _crosses(analysis: Analysis) -> str:
    count = len(analysis.minima)
    if not count:
        return "No minimum was found."
    return (
        "The cross marks the minimum."
        if count == 1
        else f"Crosses mark the {count} minima, numbered by depth."
    )
