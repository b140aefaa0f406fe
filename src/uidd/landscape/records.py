"""What a point of a landscape is."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._types import Result


@dataclass(frozen=True)
class StationaryPoint:
    """A point where the gradient vanishes, with what is needed to judge it.

    Attributes:
        x: The point.
        energy: The potential there.
        eigenvalues: Of the Hessian, ascending.
        index: How many of them are negative: 0 for a minimum, 1 for a saddle.
        gradient_norm: |grad V|, in units of the Hessian's size times the scale of the starts.
        result: `ok`, or why the point is not what was sought.
    """

    x: np.ndarray
    energy: float
    eigenvalues: np.ndarray
    index: int
    gradient_norm: float
    result: Result = field(default_factory=Result)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "x": [float(v) for v in self.x],
            "energy": float(self.energy),
            "eigenvalues": [float(v) for v in self.eigenvalues],
            "index": self.index,
            "gradient_norm": float(self.gradient_norm),
            "result": self.result.code,
        }
