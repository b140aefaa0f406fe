"""The Müller-Brown surface, softened: three wells in equilibrium."""

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from .._programs import compiled
from ..data import Trajectories
from ..dynamics import ClosedFormDynamics
from .langevin import Box, fine_paths, stationary_starts

SCALE, TEMPERATURE = 0.01, 0.5
HEIGHT = np.array([-200.0, -100.0, -170.0, 15.0])
CENTER = np.array([[1.0, 0.0], [0.0, 0.5], [-0.5, 1.5], [-1.0, 1.0]])
XX, XY, YY = np.array([[-1.0, -1.0, -6.5, 0.7], [0.0, 0.0, 11.0, 0.6], [-10.0, -10.0, -6.5, 0.7]])
BOX: Box = ((-4.0, 3.0), (-3.0, 5.0))


@dataclass(frozen=True)
class MullerBrown:
    """dz = -.01 grad V_MB dt + sqrt(2 D) dB, D = .5: in equilibrium, EPR = 0.

    V_MB = sum_k A_k exp[a_k (x - x_k)^2 + b_k (x - x_k)(y - y_k) + c_k (y - y_k)^2], four terms. The
    potential is V = .01 V_MB / D.

    >>> MullerBrown().barriers.round(4).tolist()
    [2.1207, 0.1704]
    """

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V = .01 V_MB / D, sigma = sqrt(2 D) I, W = 0."""
        return DYNAMICS

    @property
    def entropy_production_rate(self) -> float:
        """Zero."""
        return 0.0

    @property
    def minima(self) -> np.ndarray:
        """The three wells, the deepest first."""
        return _stationary_points(((-0.5582, 1.4417), (0.6235, 0.0280), (-0.0500, 0.4667)))

    @property
    def saddles(self) -> np.ndarray:
        """Between the first and the third well, between the third and the second."""
        return _stationary_points(((-0.8220, 0.6243), (0.2125, 0.2930)))

    @property
    def barriers(self) -> np.ndarray:
        """In kT: from the deepest well over the first saddle, from the shallowest over the second."""
        return surface_heights(self.saddles) - surface_heights(self.minima[[0, 2]])

    def simulate(
        self, paths: int = 1, frames: int = 15_001, dt: float = 0.01, *, seed: int = 0
    ) -> Trajectories:
        """Paths from starts drawn from the stationary density; one of 15,000 steps by default."""
        starts = stationary_starts(self.dynamics, BOX)
        return fine_paths(self.dynamics, starts, paths, frames, dt, largest_step=2.5e-4, seed=seed)


def surface(z):
    """V_MB."""
    x, y = jnp.moveaxis(z - jnp.asarray(CENTER, z.dtype), -1, 0)
    exponent = jnp.asarray(XX, z.dtype) * x**2 + jnp.asarray(XY, z.dtype) * x * y
    return jnp.sum(jnp.asarray(HEIGHT, z.dtype) * jnp.exp(exponent + jnp.asarray(YY, z.dtype) * y**2))


def surface_heights(points: np.ndarray) -> np.ndarray:
    """V at some points, in kT."""
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(DYNAMICS.potential)(jnp.asarray(points)))


DYNAMICS = ClosedFormDynamics(
    lambda z: SCALE / TEMPERATURE * surface(z),
    lambda z: (2 * TEMPERATURE) ** 0.5 * jnp.eye(2, dtype=z.dtype),
    lambda z: jnp.zeros((2, 2), z.dtype),
)


@cache
def _stationary_points(guesses: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Newton's iteration on grad V_MB = 0."""
    with jax.enable_x64(True):
        points = jnp.asarray(guesses)
        newton = compiled(
            jax.vmap(lambda z: z - jnp.linalg.solve(jax.hessian(surface)(z), jax.grad(surface)(z)))
        )
        for _ in range(5):
            points = newton(points)
        return np.asarray(points)
