"""The mean of an increment, for models that know no noise."""

import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractDrift, solve_lower
from .abstract import AbstractLikelihood


class MeanIncrement(AbstractLikelihood):
    """p = N(F(Z), dt sigma sigma^T), F the flow of z' = f(z) over dt and sigma a matrix that is given.

    Least squares on the increments in the metric of the noise: the minimum over all f is the conditional mean
    of the increment. F is one step of the classical Runge-Kutta scheme. Because sigma is given and not
    learned, the likelihoods of all models on the same data can be compared.
    """

    noise: Matrix

    def log_density(self, dynamics: AbstractDrift, start: State, increment: State, dt: Scalar) -> Scalar:
        """-|sigma^-1 (increment - F + Z)|^2 / 2 dt - log det sigma - D/2 log(2 pi dt)."""
        left = solve_lower(self.noise, increment - flow(dynamics, start, dt))
        log_volume = jnp.sum(jnp.log(jnp.diag(self.noise))) + len(start) / 2 * jnp.log(2 * jnp.pi * dt)
        return -jnp.dot(left, left) / (2 * dt) - log_volume


def flow(dynamics: AbstractDrift, start: State, dt: Scalar) -> State:
    """The increment of z' = f(z) over dt, up to O(dt^5)."""
    k1 = dynamics.drift(start)
    k2 = dynamics.drift(start + dt / 2 * k1)
    k3 = dynamics.drift(start + dt / 2 * k2)
    k4 = dynamics.drift(start + dt * k3)
    return dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
