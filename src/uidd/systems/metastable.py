"""Two metastable states with a current whose potential has no closed form."""

from dataclasses import dataclass
from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import Matrix, Scalar, State
from ..data import Trajectories
from ..dynamics import AbstractDynamics, matrix_divergence
from .fokker_planck import StationarySolution, solve_stationary
from .langevin import Box, fine_paths, uniform_starts

DISSIPATION = (0.01, 0.1)
STARTS: Box = ((-2.0, 2.0), (-3.0, 3.0))


@dataclass(frozen=True)
class Metastable:
    """dx = [x (1 - x^2)/5 + y (1 + sin x)] dt + sqrt(1/50) dB_1,

    dy = [-y + 2x (1 - x^2)(1 + sin x)] dt + sqrt(1/5) dB_2.

    With V0 = 5 (x^2 - 1)^2 + 5 y^2 the drift is -M grad V0 + u, where u = (1 + sin x)(y, 2x (1 - x^2)) is
    orthogonal to grad V0: V0 is the potential to leading order in the noise. It is not V itself, because
    div u = y cos x is not zero. V = V0 - log g, and g comes from the stationary Fokker-Planck equation.
    """

    @property
    def dynamics(self) -> AbstractDynamics:
        """Drift and sigma in closed form, V and W from the Fokker-Planck solution."""
        return MetastableDynamics()

    @property
    def entropy_production_rate(self) -> float:
        """By quadrature over the Fokker-Planck solution: 7.6632."""
        return stationary_solution().entropy_production_rate

    def simulate(
        self, paths: int = 2000, frames: int = 21, dt: float = 0.05, *, seed: int = 0
    ) -> Trajectories:
        """Paths from starts spread evenly over [-2, 2] x [-3, 3]; unit time by default."""
        starts = uniform_starts(STARTS)
        return fine_paths(self.dynamics, starts, paths, frames, dt, largest_step=1e-3, seed=seed)


class MetastableDynamics(AbstractDynamics):
    """Drift and sigma by their formulas; V0 - log g and W = w [[0, 1], [-1, 0]] with splines for log g, w.

    Beyond [-2, 2] x [-3, 3], and where V is more than about 30 above its minimum, V is V0 but for a
    bounded error, and W is not meaningful.
    """

    direction: int = eqx.field(static=True, default=1)

    def potential(self, z: State) -> Scalar:
        """V = V0 - log g."""
        z = jnp.asarray(z)
        return leading_potential(*z) - _splines()[0](z)

    def diffusion(self, z: State) -> Matrix:
        """sigma = diag(sqrt(1/50), sqrt(1/5))."""
        return jnp.diag(jnp.sqrt(2 * jnp.asarray(DISSIPATION, jnp.asarray(z).dtype)))

    def circulation(self, z: State) -> Matrix:
        """W."""
        z = jnp.asarray(z)
        return self.direction * _splines()[1](z) * jnp.asarray([[0, 1], [-1, 0]], z.dtype)

    def dissipation_divergence(self, z: State) -> State:
        """Zero."""
        return jnp.zeros_like(jnp.asarray(z))

    def circulation_divergence(self, z: State) -> State:
        """div W by the Jacobian of the spline."""
        return matrix_divergence(self.circulation, z)

    def irreversible_drift(self, z: State) -> State:
        """f_irr = f + M grad V, without W."""
        return self.direction * (drift(*jnp.asarray(z)) - self.reversible_drift(z))

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """The equations themselves; of the reversed process, f_rev - f_irr."""
        f = drift(*jnp.asarray(z))
        return f if self.direction == 1 else 2 * self.reversible_drift(z) - f, self.diffusion(z)

    def time_reversed(self) -> "MetastableDynamics":
        """W with its sign flipped."""
        return MetastableDynamics(-self.direction)


def drift(x, y):
    """The equations of motion."""
    well, turn = x * (1 - x**2), 1 + jnp.sin(x)
    return jnp.stack([well / 5 + y * turn, -y + 2 * well * turn])


def leading_potential(x, y):
    """V0, the potential to leading order in the noise."""
    return 5 * (x**2 - 1) ** 2 + 5 * y**2


@cache
def solve_on_grid(n: int) -> StationarySolution:
    """The stationary density on n x n cells of [-2, 2] x [-3, 3]."""
    u = lambda x, y: y * (1 + np.sin(x)), lambda x, y: 2 * x * (1 - x**2) * (1 + np.sin(x))
    return solve_stationary(leading_potential, u, DISSIPATION, (STARTS[0][1], STARTS[1][1]), n)


@cache
def stationary_solution(n: int = 300) -> StationarySolution:
    """The same extrapolated from n and n / 2 cells a side: V is good to .003 where it is below 15."""
    return solve_on_grid(n).extrapolated(solve_on_grid(n // 2))


@cache
def _splines():
    return stationary_solution().splines
