"""The distribution of one coordinate: recorded, simulated, stationary."""

import numpy as np
import plotly.graph_objects as go

from .style import DATA, MODEL, STATIONARY, compact, faded, new_figure

BINS = 60
# With a stationary peak this much higher than the others a linear axis would hide them.
LOG_RATIO = 4.0


def marginals(
    recorded: np.ndarray, simulated: np.ndarray, stationary: np.ndarray, *, label: str, height: int = 320
) -> go.Figure:
    """Histograms of frames recorded and simulated at the same times, and the stationary density.

    All three are densities with the same normalisation.
    """
    low, high = np.quantile(np.concatenate([recorded, simulated, _quantile_core(stationary)]), [0.001, 0.999])
    wide = np.linspace(low, high, BINS + 1)
    fine = np.linspace(*np.quantile(stationary, [0.0005, 0.9995]), BINS + 1)
    curves = [
        ("recorded", *_density(recorded, wide), DATA, "solid"),
        ("simulated", *_density(simulated, wide), MODEL, "solid"),
        ("stationary", *_density(stationary, fine), STATIONARY, "dot"),
    ]
    peaks = [float(density.max()) for _, _, density, _, _ in curves]
    logarithmic = peaks[2] > LOG_RATIO * max(peaks[:2])
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


def _quantile_core(values: np.ndarray) -> np.ndarray:
    return np.quantile(values, [0.001, 0.999])


def _density(values: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bin centres and the share of all values in each bin per width."""
    counts, _ = np.histogram(values, edges)
    return (edges[1:] + edges[:-1]) / 2, counts / max(len(values), 1) / np.diff(edges)
