"""The one-step Gaussian of the Euler-Maruyama scheme."""

import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation
from .gaussian import AbstractGaussian, Straight, whitened


class EulerMaruyama(AbstractGaussian):
    """p = N(Z + dt f(Z), dt sigma(Z) sigma(Z)^T), the paper's choice.

    Exact as dt -> 0, and exact for data that an Euler scheme of the same step generated. For data
    sampled from the true process at a finite dt its bias is of first order in dt: on the paper's linear case
    it makes the entropy production 4 % too small at dt = 0.01.
    """

    def moments(self, dynamics: AbstractEquation, start: State, dt: Scalar) -> tuple[State, Matrix]:
        """f dt and sigma sqrt(dt)."""
        drift, sigma = dynamics.drift_and_diffusion(start)
        return drift * dt, sigma * jnp.sqrt(dt)

    def as_euler_steps(
        self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar
    ) -> Straight:
        """The pair itself."""
        noise, log_volume = whitened(*self.moments(dynamics, start, dt), increment)
        return Straight(noise, log_volume, start, increment)
