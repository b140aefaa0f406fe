"""Transition densities that are Gaussian: all that is left to say is how mean and covariance come about."""

import abc
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, solve_lower
from .abstract import AbstractLikelihood


class Straight(NamedTuple):
    """What a model makes of a recorded pair.

    Attributes:
        noise: L^-1 (increment - m), white if the model is right.
        log_volume: log det L + D/2 log(2 pi).
        start: Of the step of Euler's scheme that stands for the pair.
        increment: Of that step.
    """

    noise: State
    log_volume: Scalar
    start: State
    increment: State


class AbstractGaussian(AbstractLikelihood):
    """p = N(m, L L^T)."""

    @abc.abstractmethod
    def moments(self, dynamics: AbstractEquation, start: State, dt: Scalar) -> tuple[State, Matrix]:
        """m - Z, which keeps its digits where Z is large, and the lower triangular L."""

    @property
    def finer(self) -> "AbstractGaussian | None":
        """The same in finer steps, where there are any: for pairs that seem impossible."""
        return None

    @property
    def as_argument(self) -> "AbstractGaussian":
        """The same with its numbers as arguments of a compiled program, for passes without gradients."""
        return self

    def log_density(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> Scalar:
        """-|L^-1 (increment - m)|^2 / 2 - log det L - D/2 log(2 pi)."""
        noise, log_volume = whitened(*self.moments(dynamics, start, dt), increment)
        return -jnp.dot(noise, noise) / 2 - log_volume

    def draw(self, dynamics: AbstractEquation, start: State, dt: Scalar, *, key: PRNGKeyArray) -> State:
        """An increment from this very Gaussian."""
        shift, L = self.moments(dynamics, start, dt)
        return shift + L @ jax.random.normal(key, start.shape)

    @abc.abstractmethod
    def as_euler_steps(
        self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar
    ) -> Straight:
        """The step of Euler's scheme that tells of f and sigma what a recorded pair does."""

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


def whitened(shift: State, L: Matrix, increment: State) -> tuple[State, Scalar]:
    """L^-1 (increment - m), and log det L + D/2 log(2 pi)."""
    log_volume = jnp.sum(jnp.log(jnp.diag(L))) + len(shift) / 2 * jnp.log(2 * jnp.pi)
    return solve_lower(L, increment - shift), log_volume
