"""Noise that varies in size and direction, and a circulation that varies with it."""

from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..dynamics import ClosedFormDynamics
from .langevin import Box, entropy_production_by_quadrature, fine_paths, stationary_starts

BOX: Box = ((-3.0, 3.0), (-6.0, 6.0))


@dataclass(frozen=True)
class VaryingNoise:
    """dz = [-(M + W) grad V + div M + div W] dt + sigma dB, M = sigma sigma^T / 2 (Ito), with

    V = (x^2 - 1)^2 + (y - x/2)^2, W = c [1 + x y / (1 + x^2 + y^2)] [[0, 1], [-1, 0]] and the rows of sigma
    [1 + .6 x / sqrt(1 + x^2), 0] and [y / (1 + y^2), (2 + 2 / (1 + (x + y)^2)) / 3]; c is the `circulation`.
    Two wells with a barrier of 1 kT between them; M_xx is 6 times larger in one well than in the other.

    >>> round(VaryingNoise().entropy_production_rate, 4)
    1.5962
    """

    circulation: float = 0.2

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V, sigma and W as above."""
        return _dynamics(self.circulation)

    @property
    def entropy_production_rate(self) -> float:
        """By quadrature; proportional to c^2."""
        return _entropy_production_rate(self.circulation)

    @property
    def minima(self) -> np.ndarray:
        """The two wells."""
        return np.array([[-1.0, -0.5], [1.0, 0.5]])

    @property
    def saddles(self) -> np.ndarray:
        """The one between them."""
        return np.zeros((1, 2))

    @property
    def barriers(self) -> np.ndarray:
        """The height of the saddle above the wells, in kT."""
        return np.ones(1)

    def simulate(
        self, paths: int = 400, frames: int = 1000, dt: float = 0.02, *, seed: int = 0
    ) -> Trajectories:
        """Paths from starts drawn from the stationary density."""
        starts = stationary_starts(self.dynamics, BOX)
        return fine_paths(self.dynamics, starts, paths, frames, dt, largest_step=1e-3, seed=seed)


def _potential(z):
    x, y = z
    return (x**2 - 1) ** 2 + (y - x / 2) ** 2


def _diffusion(z):
    x, y = z
    xx, yx, yy = 1 + 0.6 * x / jnp.sqrt(1 + x**2), y / (1 + y**2), (2 + 2 / (1 + (x + y) ** 2)) / 3
    return jnp.stack([xx, jnp.zeros_like(x), yx, yy]).reshape(2, 2)


@cache
def _dynamics(circulation: float) -> ClosedFormDynamics:
    def W(z):
        x, y = z
        return circulation * (1 + x * y / (1 + x**2 + y**2)) * jnp.asarray([[0, 1], [-1, 0]], z.dtype)

    return ClosedFormDynamics(_potential, _diffusion, W)


@cache
def _entropy_production_rate(circulation: float) -> float:
    return entropy_production_by_quadrature(_dynamics(circulation), BOX)
