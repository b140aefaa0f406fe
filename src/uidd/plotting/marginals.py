"""The distribution of one coordinate: recorded, simulated, stationary."""

import numpy as np
import plotly.graph_objects as go

from .style import DATA, MODEL, STATIONARY, compact, faded, new_figure

MOST_BINS = 60
# With a stationary peak this much higher than the others a linear axis would hide them.
LOG_RATIO = 4.0


def marginals(
    recorded: np.ndarray, simulated: np.ndarray, stationary: np.ndarray, *, label: str, height: int = 320
) -> go.Figure:
    """Histograms of frames recorded and simulated at the same times, and the stationary density.

    All are densities with the same normalisation; without stationary draws their curve is left out.
    """
    frames = np.concatenate([recorded, simulated])
    wide = _edges(frames, 0.001, int(np.clip(len(recorded) ** 0.5, 12, MOST_BINS)))
    curves = [
        ("recorded", *_density(recorded, wide), DATA, "solid"),
        ("simulated", *_density(simulated, wide), MODEL, "solid"),
    ]
    highest = max(float(density.max()) for _, _, density, _, _ in curves)
    logarithmic = False
    if len(stationary):
        centres, density = _density(stationary, _edges(stationary, 0.0005, MOST_BINS))
        curves.append(("stationary", centres, density, STATIONARY, "dot"))
        logarithmic = float(density.max()) > LOG_RATIO * highest
    figure = new_figure(height=height, x=label, y="density (log scale)" if logarithmic else "density")
    for name, centres, density, colour, dash in curves:
        bars = name != "stationary"
        figure.add_scatter(
            x=compact(centres),
            y=compact(np.where(density > 0, density, np.nan) if logarithmic else density),
            mode="lines",
            line={"color": colour, "width": 1.8, "dash": dash, "shape": "hvh" if bars else "linear"},
            fill="tozeroy" if bars and not logarithmic else None,
            fillcolor=faded(colour, 0.12),
            name=name,
            hovertemplate=f"{name}<br>%{{x:.4g}}: %{{y:.3g}}<extra></extra>",
        )
    if logarithmic:
        figure.update_yaxes(type="log", dtick=1)
    else:
        figure.update_yaxes(rangemode="tozero")
    return figure


def _edges(values: np.ndarray, tail: float, bins: int) -> np.ndarray:
    """Equal bins between the quantiles `tail` and `1 - tail`."""
    low, high = np.quantile(values, [tail, 1 - tail])
    least = 1e-6 * max(abs(low), abs(high), 1e-30)
    return np.linspace(low - least, high + least, bins + 1)


def _density(values: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bin centres and the share of all values in each bin per width."""
    counts, _ = np.histogram(values, edges)
    return (edges[1:] + edges[:-1]) / 2, counts / max(len(values), 1) / np.diff(edges)
