"""Potential and drift on a line, for one coordinate."""

import numpy as np
import plotly.graph_objects as go

from .style import MODEL, REVERSIBLE, compact, faded, new_figure


def potential_curve(
    x: np.ndarray, potential: np.ndarray, *, label: str, minima: np.ndarray | None = None, height: int = 360
) -> go.Figure:
    """V - V_min against the coordinate; `minima` has rows (position, V - V_min)."""
    figure = new_figure(height=height, x=label, y="V − V<sub>min</sub>")
    figure.add_scatter(
        x=compact(x),
        y=compact(potential),
        mode="lines",
        line={"color": MODEL, "width": 2.5},
        fill="tozeroy",
        fillcolor=faded(MODEL, 0.08),
        name="V",
        showlegend=False,
        hovertemplate="%{x:.4g}<br>V − V<sub>min</sub> = %{y:.3g}<extra></extra>",
    )
    if minima is not None and len(minima):
        figure.add_scatter(
            x=minima[:, 0],
            y=minima[:, 1],
            mode="markers",
            marker={"symbol": "x", "size": 10, "color": "white", "line": {"width": 1.5, "color": "black"}},
            name="minimum",
            showlegend=False,
        )
    top = float(np.max(potential))
    figure.update_yaxes(range=(-0.05 * top, 1.02 * top))
    return figure


def drift_curve(
    x: np.ndarray, drift: np.ndarray, *, label: str, drift_label: str, height: int = 360
) -> go.Figure:
    """The drift, all of it reversible, against the coordinate."""
    figure = new_figure(height=height, x=label, y=drift_label)
    figure.add_hline(y=0, line={"color": "#8a929c", "width": 1})
    figure.add_scatter(
        x=compact(x),
        y=compact(drift),
        mode="lines",
        line={"color": REVERSIBLE, "width": 2.5},
        name="drift",
        showlegend=False,
        hovertemplate="%{x:.4g}<br>drift %{y:.3g}<extra></extra>",
    )
    return figure
