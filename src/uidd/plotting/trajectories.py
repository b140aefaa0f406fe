"""Recorded and simulated paths of one coordinate."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .style import DATA, MODEL, compact, faded, new_figure


@dataclass(frozen=True)
class Band:
    """Paths `(n, t)` of one coordinate, some of them to draw, and mean and 5 to 95 % range of all.

    NaN marks times at which a path was not recorded.
    """

    times: np.ndarray
    paths: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def trajectories(
    recorded: Band, simulated: Band, *, label: str, time_label: str, height: int = 320
) -> go.Figure:
    """A few paths of each kind, with mean and 5 to 95 % band."""
    figure = new_figure(height=height, x=time_label, y=label)
    for band, colour, name, dash in (
        (recorded, DATA, "recorded", "dash"),
        (simulated, MODEL, "simulated", "solid"),
    ):
        _add_band(figure, band, colour)
        _add_paths(figure, band, colour)
        figure.add_scatter(
            x=compact(band.times),
            y=compact(band.mean),
            mode="lines",
            line={"color": colour, "width": 2.5, "dash": dash},
            name=name,
            hovertemplate=f"{name} mean<br>%{{x:.4g}}: %{{y:.4g}}<extra></extra>",
        )
    return figure


def _add_band(figure: go.Figure, band: Band, colour: str) -> None:
    figure.add_scatter(
        x=compact(np.concatenate([band.times, band.times[::-1]])),
        y=compact(np.concatenate([band.high, band.low[::-1]])),
        fill="toself",
        fillcolor=faded(colour, 0.16),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )


def _add_paths(figure: go.Figure, band: Band, colour: str) -> None:
    """All paths as one broken line."""
    gap = np.full((len(band.paths), 1), np.nan)
    times = np.broadcast_to(band.times, band.paths.shape)
    figure.add_scatter(
        x=compact(np.concatenate([times, gap], axis=1).ravel()),
        y=compact(np.concatenate([band.paths, gap], axis=1).ravel()),
        mode="lines",
        line={"color": faded(colour, 0.55), "width": 0.9},
        hoverinfo="skip",
        showlegend=False,
    )
