"""How training went."""

from collections.abc import Sequence

import plotly.graph_objects as go

from ..training import EpochRecord
from .style import DATA, MODEL, new_figure


def training_curves(history: Sequence[EpochRecord], kept: int, *, height: int = 340) -> go.Figure:
    """Training and held-out loss against optimiser steps, those of epoch `kept` marked."""
    figure = new_figure(height=height, x="optimiser step", y="loss (nats per pair)")
    best = next(record for record in history if record.epoch == kept)
    steps = [record.step for record in history]
    mode = "lines+markers" if len(history) < 40 else "lines"
    # The record before the first step holds no training loss of its own.
    figure.add_scatter(
        x=steps[1:],
        y=[record.loss for record in history[1:]],
        mode=mode,
        line={"color": MODEL, "width": 2},
        marker={"size": 5},
        name="training",
        hovertemplate="step %{x}<br>training %{y:.5f}<extra></extra>",
    )
    figure.add_scatter(
        x=steps,
        y=[record.held_out for record in history],
        mode=mode,
        line={"color": DATA, "width": 2, "dash": "dash"},
        marker={"size": 5},
        name="held out",
        hovertemplate="step %{x}<br>held out %{y:.5f}<extra></extra>",
    )
    figure.add_scatter(
        x=[best.step],
        y=[best.held_out],
        mode="markers",
        marker={"symbol": "star", "size": 14, "color": "#F0E442", "line": {"width": 1.2, "color": "black"}},
        name="kept",
        hovertemplate="kept: step %{x}<br>held out %{y:.5f}<extra></extra>",
    )
    figure.update_yaxes(tickformat=".4~g")
    return figure
