"""Colours, fonts and labels that all figures share."""

import io
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by readers of every colour vision. One meaning each, on all figures.
DATA = "#D55E00"
MODEL = "#0072B2"
STATIONARY = "#3d3d3d"
REVERSIBLE = "#00694d"
IRREVERSIBLE = "#8c1d5b"
INK = "#22262b"
GRID = "#e4e7eb"
POTENTIAL_SCALE = "Viridis"
ENTROPY_SCALE = "Inferno"
# Light to mid grey: a quiet ground on which arrows stay legible.
GROUND_SCALE = [[0.0, "#c3cad3"], [0.5, "#e3e7ec"], [1.0, "#fbfcfd"]]

_AXIS = {
    "showline": True,
    "linecolor": "#8a929c",
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": "#8a929c",
    "gridcolor": GRID,
    "zeroline": False,
    "automargin": True,
    "exponentformat": "power",
}
_TEMPLATE = go.layout.Template(
    layout={
        "font": {
            "family": "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
            "size": 13,
            "color": INK,
        },
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 64, "r": 16, "t": 50, "b": 52},
        "hovermode": "closest",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "xanchor": "left",
            "yanchor": "bottom",
            "font": {"size": 12},
        },
    }
)


def new_figure(*, height: int = 380, x: str, y: str) -> go.Figure:
    """An empty figure with labelled axes in the common style."""
    figure = go.Figure()
    figure.update_layout(template=_TEMPLATE, height=height)
    figure.update_xaxes(title={"text": x, "standoff": 8})
    figure.update_yaxes(title={"text": y, "standoff": 8})
    return figure


def axis_label(name: str, unit: str = "", *, longest: int = 40) -> str:
    """`name (unit)`, safe for Plotly, which reads a subset of HTML in labels.

    >>> axis_label("<b>x</b>", "nm")
    '&lt;b&gt;x&lt;/b&gt; (nm)'
    """
    tail = f" ({unit})" if unit else ""
    room = max(longest - len(tail), 8)
    short = name if len(name) <= room else name[: room - 1] + "…"
    return escape(short + tail)


def compact(values: Any) -> np.ndarray:
    """Single precision: half the bytes on the page, more digits than a screen has pixels."""
    return np.asarray(values, np.float32)


def png(figure: Figure, *, dpi: int = 160) -> bytes:
    """A Matplotlib figure as the content of a PNG file."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=dpi)
    return content.getvalue()


def faded(colour: str, opacity: float) -> str:
    """`#rrggbb` as `rgba(...)`.

    >>> faded("#0072B2", 0.5)
    'rgba(0, 114, 178, 0.5)'
    """
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
