"""The Brownian gyrator: one particle, two heat baths."""

from dataclasses import dataclass

import numpy as np

from .._checks import fail
from ..data import Trajectories
from .linear_diffusion import AbstractLinearDiffusion, stationary_paths


@dataclass(frozen=True)
class Gyrator(AbstractLinearDiffusion):
    """dx = -U_x dt + sqrt(2 T1) dB_1, dy = -U_y dt + sqrt(2 T2) dB_2, U = (k1 x^2 + 2 u x y + k2 y^2) / 2.

    EPR = u^2 (T1 - T2)^2 / (T1 T2 (k1 + k2)).

    >>> round(Gyrator().entropy_production_rate, 6)
    1.066667
    """

    k1: float = 2.0
    k2: float = 1.0
    u: float = 1.0
    T1: float = 1.0
    T2: float = 5.0

    def __post_init__(self) -> None:
        if not (self.k1 > 0 and self.k1 * self.k2 > self.u**2):
            fail("u", "less than sqrt(k1 k2) in size, for a potential with a minimum", self.u)

    @property
    def dissipation_matrix(self) -> np.ndarray:
        """diag(T1, T2)."""
        return np.diag([self.T1, self.T2])

    @property
    def circulation_matrix(self) -> np.ndarray:
        """W = u (T1 - T2) / (k1 + k2) [[0, -1], [1, 0]]."""
        w = self.u * (self.T1 - self.T2) / (self.k1 + self.k2)
        return w * np.array([[0.0, -1.0], [1.0, 0.0]])

    @property
    def stiffness(self) -> np.ndarray:
        """S = (D + W)^-1 K, K the Hessian of U."""
        K = np.array([[self.k1, self.u], [self.u, self.k2]])
        return np.linalg.solve(self.dissipation_matrix + self.circulation_matrix, K)

    def simulate(
        self, paths: int = 100, frames: int = 5001, dt: float = 0.1, *, seed: int = 0
    ) -> Trajectories:
        """Exact stationary paths: 500,000 pairs by default."""
        return stationary_paths(self, paths, frames, dt, seed)
