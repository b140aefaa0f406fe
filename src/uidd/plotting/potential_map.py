"""The potential over a plane."""

import numpy as np
import plotly.graph_objects as go

from .plane import Plane, add_note, colour_bar
from .style import GROUND_SCALE, POTENTIAL_SCALE, compact

CONTOURS = 12


def potential_map(
    plane: Plane,
    potential: np.ndarray,
    *,
    minima: np.ndarray | None = None,
    height: int = 400,
    smooth: bool = True,
) -> go.Figure:
    """Filled contours of V - V_min with the minima marked.

    Args:
        plane: The axes.
        potential: V - V_min of shape (len(y), len(x)), NaN where nothing is known.
        minima: Positions (n, 2), the lowest first.
        height: In pixels.
        smooth: Contours; otherwise cells, for what was counted in bins.
    """
    figure = plane.new_figure(height)
    add_note(figure, "V − V<sub>min</sub>")
    common = {
        "x": compact(plane.x),
        "y": compact(plane.y),
        "z": compact(potential),
        "colorbar": colour_bar(),
        "name": "V",
    }
    hover = "%{x:.4g}, %{y:.4g}<br>V − V<sub>min</sub> = %{z:.3g}<extra></extra>"
    if smooth:
        figure.add_contour(
            **common,
            colorscale=POTENTIAL_SCALE,
            contours=_levels(potential),
            line={"width": 0.6, "color": "rgba(255, 255, 255, 0.7)"},
            hovertemplate=hover,
        )
    else:
        figure.add_heatmap(**common, colorscale=POTENTIAL_SCALE, hoverongaps=False, hovertemplate=hover)
    add_minima(figure, minima)
    return figure


def add_ground(figure: go.Figure, plane: Plane, potential: np.ndarray) -> None:
    """The potential in quiet greys, under what is drawn next."""
    figure.add_contour(
        x=compact(plane.x),
        y=compact(plane.y),
        z=compact(potential),
        colorscale=GROUND_SCALE,
        contours=_levels(potential),
        line={"width": 0.6, "color": "rgba(90, 100, 112, 0.45)"},
        showscale=False,
        hoverinfo="skip",
    )


def add_minima(figure: go.Figure, minima: np.ndarray | None) -> None:
    """White crosses, numbered as in the table of minima when there are several."""
    if minima is None or not len(minima):
        return
    several = len(minima) > 1
    figure.add_scatter(
        x=minima[:, 0],
        y=minima[:, 1],
        mode="markers+text" if several else "markers",
        text=[f"{k + 1}" for k in range(len(minima))] if several else None,
        textposition="top right",
        textfont={"color": "white", "size": 14, "shadow": "0 0 3px black"},
        marker={"symbol": "x", "size": 10, "color": "white", "line": {"width": 1.2, "color": "black"}},
        customdata=[[k + 1] for k in range(len(minima))],
        hovertemplate="minimum %{customdata[0]}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
        showlegend=False,
    )


def _levels(potential: np.ndarray) -> dict[str, float]:
    """About `CONTOURS` levels a round step apart, from zero to the highest known value."""
    known = potential[np.isfinite(potential)]
    top = float(known.max()) if known.size else 1.0
    raw = max(top, 1e-6) / CONTOURS
    decade = 10.0 ** np.floor(np.log10(raw))
    step = float(next(m for m in (1, 2, 2.5, 5, 10) if m * decade >= raw) * decade)
    return {"start": step, "end": float(np.ceil(top / step) * step), "size": step}
