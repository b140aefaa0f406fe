"""The two axes of a map."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .style import new_figure


@dataclass(frozen=True)
class Plane:
    """Positions and labels (as from `axis_label`) of the two axes of a map; its values have shape (len(y), len(x))."""

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
        figure.update_xaxes(range=self.x_range, showgrid=False, mirror=True)
        figure.update_yaxes(range=self.y_range, showgrid=False, mirror=True)
        return figure


def _extent(positions: np.ndarray) -> tuple[float, float]:
    half = float(positions[1] - positions[0]) / 2
    return float(positions[0]) - half, float(positions[-1]) + half
