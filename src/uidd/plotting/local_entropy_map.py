"""Where entropy is produced."""

import numpy as np
import plotly.graph_objects as go

from .plane import Plane, add_note, colour_bar
from .style import ENTROPY_SCALE, compact


def local_entropy_map(
    plane: Plane,
    local: np.ndarray,
    *,
    unit: str,
    highest: float | None = None,
    height: int = 400,
    smooth: bool = True,
) -> go.Figure:
    """Local entropy production as colour.

    Args:
        plane: The axes.
        local: s_tot of shape (len(y), len(x)), NaN where nothing is known.
        unit: Beside the colour bar, such as `k_B / s`, already safe for Plotly.
        highest: Values above get the last colour.
        height: In pixels.
        smooth: Interpolate between the positions; otherwise show cells.
    """
    figure = plane.new_figure(height)
    add_note(figure, unit)
    known = local[np.isfinite(local)]
    top = highest if highest is not None else float(known.max(initial=0.0))
    figure.add_heatmap(
        x=compact(plane.x),
        y=compact(plane.y),
        z=compact(local),
        zmin=0.0,
        zmax=top if top > 0 else 1.0,
        zsmooth="best" if smooth and np.isfinite(local).all() else False,
        colorscale=ENTROPY_SCALE,
        hoverongaps=False,
        colorbar=colour_bar(),
        hovertemplate="%{x:.4g}, %{y:.4g}<br>s<sub>tot</sub> = %{z:.3g}<extra></extra>",
    )
    return figure
