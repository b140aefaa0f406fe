"""A chain of beads on springs, each in its own heat bath."""

from dataclasses import dataclass

import numpy as np

from .._checks import fail
from ..data import Trajectories
from .linear_diffusion import AbstractLinearDiffusion, circulation_and_stiffness, stationary_paths


@dataclass(frozen=True)
class Beads(AbstractLinearDiffusion):
    """dx_i = (x_{i-1} - 2 x_i + x_{i+1}) dt + sqrt(2 T_i) dB_i, i = 1..count, x_0 = x_{count+1} = 0.

    The temperatures rise evenly from `cold` at the first bead to `hot` at the last.

    >>> round(Beads(2).entropy_production_rate, 4), round(Beads(5).entropy_production_rate, 6)
    (2.025, 0.629817)
    """

    count: int = 2
    cold: float = 1.0
    hot: float = 10.0

    def __post_init__(self) -> None:
        if self.count != int(self.count) or self.count < 2:
            fail("count", "a whole number of at least 2", self.count)

    @property
    def dissipation_matrix(self) -> np.ndarray:
        """diag(T_i)."""
        return np.diag(np.linspace(self.cold, self.hot, int(self.count)))

    @property
    def circulation_matrix(self) -> np.ndarray:
        """W from A and D."""
        return circulation_and_stiffness(self._springs, self.dissipation_matrix)[0]

    @property
    def stiffness(self) -> np.ndarray:
        """S from A and D; at one temperature -A / T."""
        return circulation_and_stiffness(self._springs, self.dissipation_matrix)[1]

    @property
    def _springs(self) -> np.ndarray:
        """A: -2 on the diagonal, 1 beside it."""
        n = int(self.count)
        return np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)

    def simulate(
        self, paths: int = 100, frames: int = 5001, dt: float = 0.1, *, seed: int = 0
    ) -> Trajectories:
        """Exact stationary paths: 500,000 pairs by default."""
        return stationary_paths(self, paths, frames, dt, seed)
