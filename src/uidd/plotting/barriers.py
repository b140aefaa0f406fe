"""Minima, saddles and the paths between them."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from .plane import Plane
from .potential_map import add_minima, potential_map
from .style import DATA, MODEL, STATIONARY, compact, faded, new_figure


def barrier_map(
    plane: Plane,
    potential: np.ndarray,
    *,
    minima: np.ndarray,
    saddles: np.ndarray,
    paths: Sequence[np.ndarray],
    height: int = 440,
) -> go.Figure:
    """The potential over a plane with paths of steepest descent on it.

    Args:
        plane: The axes.
        potential: V - V_min of shape (len(y), len(x)), NaN where nothing is known.
        minima: Positions (n, 2), the lowest first.
        saddles: Positions (k, 2).
        paths: One array (m, 2) each.
        height: In pixels.
    """
    figure = potential_map(plane, potential, height=height)
    for path in paths:
        figure.add_scatter(
            x=compact(path[:, 0]),
            y=compact(path[:, 1]),
            mode="lines",
            line={"color": "white", "width": 2.5},
            hoverinfo="skip",
            showlegend=False,
        )
    if len(saddles):
        figure.add_scatter(
            x=saddles[:, 0],
            y=saddles[:, 1],
            mode="markers",
            marker={"symbol": "diamond", "size": 10, "color": DATA, "line": {"width": 1.2, "color": "white"}},
            hovertemplate="saddle<br>%{x:.4g}, %{y:.4g}<extra></extra>",
            showlegend=False,
        )
    add_minima(figure, minima)
    return figure


def barrier_profiles(
    profiles: Sequence[np.ndarray],
    names: Sequence[str],
    errors: Sequence[float],
    *,
    height: int = 440,
) -> go.Figure:
    """V - V_min along each path, over the share of its length, with the error of the height on top.

    Args:
        profiles: Energies along each path.
        names: What each leads from and to.
        errors: The standard error of each height, nan where it is not known.
        height: In pixels.
    """
    figure = new_figure(height=height, x="share of the path", y="V − V<sub>min</sub>")
    colours = (MODEL, DATA, STATIONARY, "#009E73", "#CC79A7", "#56B4E9")
    for k, (energies, name, error) in enumerate(zip(profiles, names, errors, strict=True)):
        colour, along = colours[k % len(colours)], np.linspace(0, 1, len(energies))
        figure.add_scatter(
            x=compact(along),
            y=compact(energies),
            mode="lines",
            line={"color": colour, "width": 2.5},
            name=name,
            hovertemplate="%{y:.3g}<extra>" + name + "</extra>",
        )
        top = int(np.argmax(energies))
        figure.add_scatter(
            x=[along[top]],
            y=[energies[top]],
            mode="markers",
            marker={"symbol": "diamond", "size": 9, "color": colour},
            error_y={"array": [1.96 * error if np.isfinite(error) else 0.0], "color": faded(colour, 0.8)},
            showlegend=False,
            hoverinfo="skip",
        )
    return figure
