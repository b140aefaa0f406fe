"""Two wells in three dimensions, driven in all planes."""

from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..dynamics import ClosedFormDynamics
from .langevin import fine_paths

HEIGHT = 4.0
TURN = np.array([[0.0, 1.0, -0.5], [-1.0, 0.0, 0.8], [0.5, -0.8, 0.0]])


@dataclass(frozen=True)
class DrivenWells:
    """dz = -(I + c R) grad V dt + sqrt(2) dB, V = 4 (x^2 - 1)^2 + (y - x/2)^2 + (z - y/2)^2, R = -R^T.

    c is the `drive`. The least V at a given x is 4 (x^2 - 1)^2: the barrier between the wells is 4. With
    <dV dV^T> = <Hess V> the rate is EPR = c^2 Tr(R^T R <Hess V>), where the mean of x^2 alone has to be
    integrated.

    >>> round(DrivenWells(0.5).entropy_production_rate, 4)
    10.8413
    """

    drive: float = 0.5

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V, sigma = sqrt(2) I, W = c R."""
        return _dynamics(self.drive)

    @property
    def entropy_production_rate(self) -> float:
        """c^2 Tr(R^T R <Hess V>)."""
        x, weights = _first_coordinate()
        steep = 12 * HEIGHT * float(weights @ x**2) - 4 * HEIGHT
        curvature = np.array([[steep + 0.5, -1.0, 0.0], [-1.0, 2.5, -1.0], [0.0, -1.0, 2.0]])
        return float(self.drive**2 * np.trace(TURN.T @ TURN @ curvature))

    @property
    def minima(self) -> np.ndarray:
        """The two wells."""
        return np.array([[-1.0, -0.5, -0.25], [1.0, 0.5, 0.25]])

    @property
    def saddles(self) -> np.ndarray:
        """The one between them."""
        return np.zeros((1, 3))

    @property
    def barriers(self) -> np.ndarray:
        """The height of the saddle above the wells, in kT."""
        return np.array([HEIGHT])

    def simulate(
        self, paths: int = 200, frames: int = 1000, dt: float = 0.01, *, seed: int = 0
    ) -> Trajectories:
        """Stationary paths."""
        return fine_paths(self.dynamics, stationary_states, paths, frames, dt, largest_step=1e-3, seed=seed)


def _potential(state):
    x, y, z = state
    return HEIGHT * (x**2 - 1) ** 2 + (y - x / 2) ** 2 + (z - y / 2) ** 2


def _diffusion(z):
    return 2**0.5 * jnp.eye(3, dtype=z.dtype)


@cache
def _dynamics(drive: float) -> ClosedFormDynamics:
    W = drive * TURN
    return ClosedFormDynamics(_potential, _diffusion, lambda z: jnp.asarray(W, z.dtype))


def _first_coordinate() -> tuple[np.ndarray, np.ndarray]:
    """A fine grid of x, and its weights under e^-4(x^2 - 1)^2."""
    x = np.linspace(-2.5, 2.5, 20_001)
    density = np.exp(-HEIGHT * (x**2 - 1) ** 2)
    return x, density / density.sum()


def stationary_states(generator: np.random.Generator, count: int) -> np.ndarray:
    """Exact: x from its own density, then y given x and z given y, which are Gaussian."""
    grid, weights = _first_coordinate()
    x = generator.choice(grid, count, p=weights)
    y = x / 2 + generator.normal(0.0, 0.5**0.5, count)
    return np.stack([x, y, y / 2 + generator.normal(0.0, 0.5**0.5, count)], axis=1)
