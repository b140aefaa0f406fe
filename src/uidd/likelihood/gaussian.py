"""Transition densities that are Gaussian: all that is left to say is how mean and covariance come about."""

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, solve_lower, solve_positive
from .abstract import AbstractLikelihood


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
        shift, L = self.moments(dynamics, start, dt)
        noise = solve_lower(L, increment - shift)
        log_volume = jnp.sum(jnp.log(jnp.diag(L))) + len(start) / 2 * jnp.log(2 * jnp.pi)
        return -jnp.dot(noise, noise) / 2 - log_volume

    def draw(self, dynamics: AbstractEquation, start: State, dt: Scalar, *, key: PRNGKeyArray) -> State:
        """An increment from this very Gaussian."""
        shift, L = self.moments(dynamics, start, dt)
        return shift + L @ jax.random.normal(key, start.shape)

    def straightened(
        self, dynamics: AbstractEquation, start: State, dt: Scalar, shift: State, L: Matrix, xi: State
    ) -> tuple[State, State]:
        """Start and increment of a step of Euler's scheme that tells of f and sigma what this pair does.

        A change of f moves the mean by int J(dt - s) df(z(s)) ds = dt J(dt/2) df(z(dt/2)) + O(dt^3), where J
        is the derivative of the flow from s to dt. So the step starts half way, at z(dt/2) of the model, and
        its noise is carried back there: f dt + sigma sqrt(dt) Q xi. Q turns as the flow does and is
        orthogonal, so the covariance is Euler's.

        Args:
            dynamics: The model.
            start: Of the pair.
            dt: The interval.
            shift: m - Z.
            L: The factor of the covariance.
            xi: The white noise of the pair, L^-1 (increment - shift).
        """
        # The cubic through both ends with the drift as its slope; where it is stiff, not beyond the end.
        bend = dt / 8 * (dynamics.drift(start) - dynamics.drift(start + shift))
        size, most = jnp.linalg.norm(bend), jnp.linalg.norm(shift) / 2
        bend = bend * jnp.minimum(1.0, most / jnp.maximum(size, jnp.finfo(start.dtype).tiny))
        middle = start + shift / 2 + bend
        f, sigma = dynamics.drift_and_diffusion(middle)
        if len(start) > 1:
            # The orthogonal matrix next to sigma^-1 J^-1 L / sqrt(dt), in Cayley's form.
            back = L - dt / 2 * jax.jacfwd(dynamics.drift)(middle) @ L
            turn = solve_lower(sigma, back) / jnp.sqrt(dt)
            K, one = (turn - turn.T) / 4, jnp.eye(len(start), dtype=start.dtype)
            # (1 - K)^-1 (1 + K), and (1 - K)^T (1 - K) = 1 - K K.
            xi = solve_positive(one - K @ K, (one + K) @ ((one + K) @ xi))
        return middle, f * dt + jnp.sqrt(dt) * sigma @ xi

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
