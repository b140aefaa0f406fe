"""Transition densities that are Gaussian: all that is left to say is how mean and covariance come about."""

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, solve_lower
from .abstract import AbstractLikelihood


class AbstractGaussian(AbstractLikelihood):
    """p = N(m, L L^T)."""

    @abc.abstractmethod
    def moments(self, dynamics: AbstractEquation, start: State, dt: Scalar) -> tuple[State, Matrix]:
        """m - Z, which keeps its digits where Z is large, and the lower triangular L."""

    def log_density(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> Scalar:
        """-|L^-1 (increment - m)|^2 / 2 - log det L - D/2 log(2 pi)."""
        shift, L = self.moments(dynamics, start, dt)
        noise = solve_lower(L, increment - shift)
        log_volume = jnp.sum(jnp.log(jnp.diag(L))) + len(start) / 2 * jnp.log(2 * jnp.pi)
        return -jnp.dot(noise, noise) / 2 - log_volume

    def draw(self, dynamics: AbstractEquation, start: State, dt: Scalar, *, key: PRNGKeyArray) -> State:
        """An increment from this very Gaussian."""
        shift, L = self.moments(dynamics, start, dt)
        return shift + L @ jax.random.normal(key, start.shape)

    def straightened(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> State:
        """The increment that Euler's scheme would have made of the same noise: f dt + sigma sqrt(dt) xi."""
        shift, L = self.moments(dynamics, start, dt)
        f, sigma = dynamics.drift_and_diffusion(start)
        return f * dt + jnp.sqrt(dt) * sigma @ solve_lower(L, increment - shift)

    def deviations(
        self, dynamics: AbstractEquation, start: State, dt: Scalar, root: Matrix
    ) -> Float[Array, " rows"]:
        """Numbers y whose Jacobian J gives the Fisher information of one transition, J^T J.

        Beside m / L they are L / L on and below the diagonal, with `root` the L divided by, which is not
        varied: |dm|_P^2 + Tr(P^-1 dP P^-1 dP) / 2 = |L^-1 dm|^2 + sum_i 2 A_ii^2 + sum_{i>j} A_ij^2, where
        A = L^-1 dL.
        """
        shift, L = self.moments(dynamics, start, dt)
        # The inverse, since it is constant: derivatives are products then, where solves would be repeated.
        inverse = solve_lower(root, jnp.eye(len(start), dtype=root.dtype))
        A, below = inverse @ L, jnp.tril_indices(len(start), -1)
        return jnp.concatenate([inverse @ shift, 2**0.5 * jnp.diag(A), A[below]])
