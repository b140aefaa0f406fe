"""The two axes of a map."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from .style import new_figure


@dataclass(frozen=True)
class Plane:
    """Positions and labels (from `axis_label`) of two axes; values over them have shape (len(y), len(x))."""

    x: np.ndarray
    y: np.ndarray
    x_label: str
    y_label: str

    @property
    def x_range(self) -> tuple[float, float]:
        """The horizontal extent, half a cell beyond the outer positions."""
        return _extent(self.x)

    @property
    def y_range(self) -> tuple[float, float]:
        """The vertical extent, half a cell beyond the outer positions."""
        return _extent(self.y)

    def new_figure(self, height: int) -> go.Figure:
        """An empty figure of this extent; what was not evaluated stays white."""
        figure = new_figure(height=height, x=self.x_label, y=self.y_label)
        figure.update_layout(margin={"t": 66})
        figure.update_xaxes(
            range=self.x_range, showgrid=False, mirror=True, automargin=False, title={"standoff": None}
        )
        figure.update_yaxes(range=self.y_range, showgrid=False, mirror=True)
        return figure


def _extent(positions: np.ndarray) -> tuple[float, float]:
    half = float(positions[1] - positions[0]) / 2
    return float(positions[0]) - half, float(positions[-1]) + half


def colour_bar() -> dict[str, Any]:
    """A flat bar above the map, at its right; `note` names what it shows, at its left."""
    return {
        "orientation": "h",
        "x": 1.0,
        "xanchor": "right",
        "xpad": 0,
        "y": 1.0,
        "yanchor": "bottom",
        "ypad": 5,
        "len": 0.68,
        "thickness": 9,
        "outlinewidth": 0,
        "nticks": 6,
        "tickfont": {"size": 11},
    }


def add_note(figure: go.Figure, words: str) -> None:
    """A few words above the map, at its left."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1.0, "yanchor": "bottom"}
    figure.add_annotation(text=words, showarrow=False, yshift=6, font={"size": 12}, **place)
