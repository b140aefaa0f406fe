"""What is found on a landscape: points, paths, barriers, projections."""

from dataclasses import dataclass, field, replace
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
        gradient_norm: |grad V|.
        result: `ok`; or `not_converged`, `degenerate`, `wrong_index` or `not_finite`, with words.
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


@dataclass(frozen=True)
class EnergyPath:
    """A path of steepest descent between two minima, over the saddles between them.

    Attributes:
        points: States along it, (n, D), the minima at both ends included.
        energies: Of them.
        minima: Where it passes, in order: both ends, and what lies between.
        saddles: One between each two of these.
        result: `ok`; or `not_converged`, `no_saddle`.
    """

    points: np.ndarray
    energies: np.ndarray
    minima: tuple[StationaryPoint, ...]
    saddles: tuple[StationaryPoint, ...]
    result: Result = field(default_factory=Result)

    @property
    def highest(self) -> StationaryPoint | None:
        """The saddle that decides."""
        return max(self.saddles, key=lambda point: point.energy, default=None)

    @property
    def reversed(self) -> "EnergyPath":
        """The way back."""
        return EnergyPath(
            self.points[::-1], self.energies[::-1], self.minima[::-1], self.saddles[::-1], self.result
        )


@dataclass(frozen=True)
class Barrier:
    """What it takes to go from one minimum to another.

    Attributes:
        height: V at the saddle less V at `minimum_a`, in kT for a potential of a stationary density; nan
            where no saddle was found.
        standard_error: Of the height, over an ensemble of models; nan without one.
        minimum_a: Where one starts.
        minimum_b: Where one goes.
        saddle: The highest one on the way; None where none was found.
        path: Over it.
        members: Heights on the members of the ensemble, nan where a member has no such barrier.
        result: `ok`; `members_differ`, where too few members have it; or why there is no height: a number
            never comes from a search that failed.
    """

    height: float
    standard_error: float
    minimum_a: StationaryPoint
    minimum_b: StationaryPoint
    saddle: StationaryPoint | None
    path: EnergyPath
    members: np.ndarray = field(default_factory=lambda: np.zeros(0))
    result: Result = field(default_factory=Result)

    @property
    def interval(self) -> tuple[float, float]:
        """95 %."""
        return (self.height - 1.96 * self.standard_error, self.height + 1.96 * self.standard_error)

    @property
    def reversed(self) -> "Barrier":
        """The same barrier from the other side."""
        height = self.saddle.energy - self.minimum_b.energy if self.saddle else self.height
        return replace(
            self,
            height=height,
            minimum_a=self.minimum_b,
            minimum_b=self.minimum_a,
            path=self.path.reversed,
            standard_error=float("nan"),
            members=np.zeros(0),
        )

    def __str__(self) -> str:
        if self.saddle is None:
            return f"no barrier: {self.result.message}"
        error = f" +- {self.standard_error:.2g}" if np.isfinite(self.standard_error) else ""
        return f"{self.height:.4g}{error}"

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "height": float(self.height),
            "standard_error": float(self.standard_error),
            "minimum_a": self.minimum_a.to_dict(),
            "minimum_b": self.minimum_b.to_dict(),
            "saddle": self.saddle.to_dict() if self.saddle else None,
            "path": [[float(v) for v in point] for point in self.path.points],
            "result": self.result.code,
            "message": self.result.message,
        }


@dataclass(frozen=True)
class Landscape:
    """Minima, and the barriers between those that are neighbours.

    Attributes:
        minima: Lowest first.
        barriers: Each from the lower of two minima to the higher, lowest saddle first.
    """

    minima: tuple[StationaryPoint, ...]
    barriers: tuple[Barrier, ...]

    def ends(self, barrier: Barrier) -> tuple[int, int]:
        """Which minima a barrier lies between, by number from 0."""
        places = np.array([point.x for point in self.minima])
        spread = np.where(np.ptp(places, axis=0) > 0, np.ptp(places, axis=0), 1.0)
        first, second = (
            int(np.argmin(np.linalg.norm((places - point.x) / spread, axis=1)))
            for point in (barrier.minimum_a, barrier.minimum_b)
        )
        return first, second

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {
            "minima": [point.to_dict() for point in self.minima],
            "barriers": [
                {"from": a + 1, "to": b + 1, **barrier.to_dict()}
                for barrier in self.barriers
                for a, b in [self.ends(barrier)]
            ],
        }


@dataclass(frozen=True)
class Projection:
    """A potential over one or two of its coordinates.

    Attributes:
        axes: The coordinates that are left.
        grid: One array of values for each of them.
        values: V minimised or integrated over the others, a row for every value of the first axis; nan
            where no state is near: nothing is asserted there.
        supported: Where states are near.
        how: `min` or `marginal`.
        standard_error: Of the values, from the integration; zero for `min`.
        result: `ok`; or `poor_integral`, where values had to be left out.
    """

    axes: tuple[int, ...]
    grid: tuple[np.ndarray, ...]
    values: np.ndarray
    supported: np.ndarray
    how: str
    standard_error: np.ndarray
    result: Result = field(default_factory=Result)
