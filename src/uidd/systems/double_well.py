"""Two wells with a current around each."""

from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..dynamics import ClosedFormDynamics
from .langevin import Box, entropy_production_by_quadrature, fine_paths, uniform_starts

TEMPERATURE = 0.1
STARTS: Box = ((0.0, 3.0), (0.0, 3.0))


@dataclass(frozen=True)
class DoubleWell:
    """dz = [-grad U + c (-U_y, U_x)] dt + sqrt(2 D) dB, U = ((x - 1.5)^2 - 1)^2 + (y - 1.5)^2 / 2, D = .1.

    c is the `circulation`. V = U / D, and EPR = c^2 <|grad U|^2> / D.

    >>> round(DoubleWell(0.5).entropy_production_rate, 5)
    2.16757
    """

    circulation: float = 0.5

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V = U / D, sigma = sqrt(2 D) I, W = c D [[0, 1], [-1, 0]]."""
        return _dynamics(self.circulation)

    @property
    def entropy_production_rate(self) -> float:
        """By quadrature."""
        return _entropy_production_rate(self.circulation)

    @property
    def minima(self) -> np.ndarray:
        """The two wells."""
        return np.array([[0.5, 1.5], [2.5, 1.5]])

    @property
    def saddles(self) -> np.ndarray:
        """The one between them."""
        return np.array([[1.5, 1.5]])

    @property
    def barriers(self) -> np.ndarray:
        """The height of the saddle above the wells, in kT."""
        return np.array([1 / TEMPERATURE])

    def simulate(
        self, paths: int = 400, frames: int = 1000, dt: float = 0.02, *, seed: int = 0
    ) -> Trajectories:
        """Paths from starts spread evenly over [0, 3]^2."""
        starts = uniform_starts(STARTS)
        return fine_paths(self.dynamics, starts, paths, frames, dt, largest_step=1e-3, seed=seed)


def _potential(z):
    x, y = z - 1.5
    return ((x**2 - 1) ** 2 + y**2 / 2) / TEMPERATURE


def _diffusion(z):
    return (2 * TEMPERATURE) ** 0.5 * jnp.eye(2, dtype=z.dtype)


@cache
def _dynamics(circulation: float) -> ClosedFormDynamics:
    W = circulation * TEMPERATURE * np.array([[0.0, 1.0], [-1.0, 0.0]])
    return ClosedFormDynamics(_potential, _diffusion, lambda z: jnp.asarray(W, z.dtype))


@cache
def _entropy_production_rate(circulation: float) -> float:
    return entropy_production_by_quadrature(_dynamics(circulation), ((-0.5, 3.5), (-2.0, 5.0)))
