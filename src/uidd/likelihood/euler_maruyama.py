"""The one-step Gaussian of the Euler-Maruyama scheme."""

import jax.numpy as jnp

from .._types import Scalar, State
from ..dynamics import AbstractDynamics, solve_lower
from .abstract import AbstractLikelihood


class EulerMaruyama(AbstractLikelihood):
    """p = N(Z + dt f(Z), dt sigma(Z) sigma(Z)^T), the paper's choice.

    Exact as dt -> 0, and exact for data that an Euler scheme of the same step generated. For data
    sampled from the true process at a finite dt its bias is of first order in dt: on the paper's linear case
    it makes the entropy production 4 % too small at dt = 0.01.
    """

    def log_density(self, dynamics: AbstractDynamics, start: State, increment: State, dt: Scalar) -> Scalar:
        """-|sigma^-1 (increment - f dt)|^2 / (2 dt) - log det sigma - D/2 log(2 pi dt)."""
        drift, sigma = dynamics.drift_and_diffusion(start)
        noise = solve_lower(sigma, increment - drift * dt)
        return (
            -jnp.dot(noise, noise) / (2 * dt)
            - jnp.sum(jnp.log(jnp.diag(sigma)))
            - len(start) / 2 * jnp.log(2 * jnp.pi * dt)
        )
