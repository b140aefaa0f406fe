"""A vector field over the potential."""

import numpy as np
import plotly.graph_objects as go

from .arrows import arrow_lines
from .plane import Plane, add_note
from .potential_map import add_ground

# The longest arrow reaches this share of the way to the next one.
REACH = 1.0


def arrow_time(places: Plane, field: np.ndarray) -> float:
    """The round time in which the field carries most states less than one arrow spacing.

    An arrow is the shift in that time, which has a meaning also where the axes have different units.
    Zero when the field vanishes.
    """
    fastest = np.quantile(_cells_per_time(places, field), 0.8)
    if not np.isfinite(fastest) or fastest <= 0:
        return 0.0
    longest = REACH / fastest
    decade = 10.0 ** np.floor(np.log10(longest))
    return float(max(m for m in (1, 1.5, 2, 3, 5, 7) if m * decade <= longest * (1 + 1e-9)) * decade)


def field_map(
    plane: Plane,
    potential: np.ndarray,
    places: Plane,
    field: np.ndarray,
    *,
    colour: str,
    note: str = "",
    height: int = 400,
) -> go.Figure:
    """Arrows, each the shift in `arrow_time`, over contours of the potential.

    Args:
        plane: The axes of the potential.
        potential: V - V_min of shape (len(y), len(x)), NaN where nothing is known.
        places: The coarser axes of the arrows.
        field: Velocities of shape (len(places.y), len(places.x), 2), NaN where nothing is known.
        colour: Of the arrows.
        note: Above the map; what an arrow means, say.
        height: In pixels.
    """
    figure = plane.new_figure(height)
    add_note(figure, note)
    add_ground(figure, plane, potential)
    known = np.isfinite(field).all(axis=-1)
    time = arrow_time(places, field)
    if not time:
        return figure
    centres = np.stack(np.meshgrid(places.x, places.y), axis=-1)[known]
    velocity = field[known]
    cells = _cells_per_time(places, field) * time
    shifts = velocity * time * np.minimum(1.0, REACH / np.maximum(cells, 1e-30))[:, None]
    size = (plane.x_range[1] - plane.x_range[0], plane.y_range[1] - plane.y_range[0])
    x, y = arrow_lines(centres - shifts / 2, shifts, size)
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": colour, "width": 1.8}, hoverinfo="skip", showlegend=False
    )
    figure.add_scatter(
        x=centres[:, 0].astype(np.float32),
        y=centres[:, 1].astype(np.float32),
        customdata=velocity.astype(np.float32),
        mode="markers",
        marker={"size": 9, "color": "rgba(0, 0, 0, 0)"},
        hovertemplate="at %{x:.4g}, %{y:.4g}<br>velocity %{customdata[0]:.3g}, %{customdata[1]:.3g}"
        "<extra></extra>",
        showlegend=False,
    )
    return figure


def _cells_per_time(places: Plane, field: np.ndarray) -> np.ndarray:
    """Speeds at the known places, in arrow spacings per unit time."""
    spacing = np.array([places.x[1] - places.x[0], places.y[1] - places.y[0]])
    speeds = np.linalg.norm(field / spacing, axis=-1)
    return speeds[np.isfinite(speeds)]
