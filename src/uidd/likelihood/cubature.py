"""A Gaussian carried over the interval by cubature points."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from .._checks import fail, whole_number
from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, cholesky, solve_lower, solve_positive
from .gaussian import AbstractGaussian, Straight, whitened

# What stages look ahead and what they weigh: midpoint, and the classical scheme.
ORDERS = (2, 4)
AHEAD = np.array([[0, 1 / 2, 0, 0], [0, 1 / 2, 1 / 2, 1]])
WEIGHT = np.array([[0, 1, 0, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]])


class Cubature(AbstractGaussian):
    """p = N(m(dt), P(dt)), where mean and covariance obey the moment equations of the process,

        m' = <f>,    P' = <f (z - m)^T> + <(z - m) f^T> + <2 M>,    m(0) = Z, P(0) = 0,

    and the averages over N(m, P) are taken over the 2D cubature points m +- sqrt(D) L_k, the columns of
    L L^T = P. No derivative of the drift is needed: <f> holds the Ito term of a curved drift, and
    <f (z - m)^T> = J P its local contraction. Both are exact for drifts that are polynomials of third and
    second degree.

    The equations are solved by `steps` steps of a Runge-Kutta scheme of the given order, so the error is of
    that order in dt; what is left as steps grow is that the true density is not Gaussian. Linear systems
    have no such rest.

    Attributes:
        steps: Steps an interval.
        order: 2 (midpoint) or 4 (the classical scheme).
    """

    steps: int = 1
    order: int = 4

    def __check_init__(self) -> None:
        whole_number("steps", self.steps)
        if self.order not in ORDERS:
            fail("order", "2 or 4", repr(self.order))

    @property
    def finer(self) -> "Cubature":
        """Stable where the drift is four times as stiff."""
        return Cubature(4 * self.steps, 4)

    @property
    def as_argument(self) -> "Cubature":
        """Steps and order as arrays: one compiled program serves all of them."""
        return eqx.tree_at(
            lambda c: (c.steps, c.order), self, replace_fn=lambda number: np.asarray(number, np.int32)
        )

    def evaluations(self, dimension: int) -> int:
        """Drift evaluations a transition.

        >>> Cubature(1, 2).evaluations(2), Cubature(1, 4).evaluations(2)
        (5, 13)
        """
        stages = self.order * self.steps
        return 1 + (stages - 1) * 2 * dimension

    def moments(self, dynamics: AbstractEquation, start: State, dt: Scalar) -> tuple[State, Matrix]:
        """m - Z, which keeps its digits where Z is large, and the lower triangular factor of P."""
        shift, L, _ = carried(dynamics, start, dt, self.steps, self.order)
        return shift, L

    def as_euler_steps(
        self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar
    ) -> Straight:
        """A step of Euler's scheme that tells of f and sigma what this pair does.

        A change of f moves the mean by int J(dt - s) df(z(s)) ds = dt J(dt/2) df(z(dt/2)) + O(dt^3), where J
        is the derivative of the flow from s to dt. So the step starts half way, at z(dt/2) of the model, and
        its noise is carried back there: f dt + sigma sqrt(dt) Q xi. Q turns as the flow does and is
        orthogonal, so the covariance is Euler's.
        """
        shift, L, half = carried(dynamics, start, dt, self.steps, self.order)
        xi, log_volume = whitened(shift, L, increment)
        # The cubic through both ends with the drift as its slope; where it is stiff, not beyond the end.
        bend = dt / 8 * (dynamics.drift(start) - dynamics.drift(start + shift))
        size, most = jnp.linalg.norm(bend), jnp.linalg.norm(shift) / 2
        bend = bend * jnp.minimum(1.0, most / jnp.maximum(size, jnp.finfo(start.dtype).tiny))
        middle = start + shift / 2 + bend
        f, sigma = dynamics.drift_and_diffusion(middle)
        turned = xi
        if len(start) > 1:
            # The orthogonal matrix next to sigma^-1 J^-1 L / sqrt(dt), in Cayley's form.
            back = L - dt / 2 * half.slopes @ solve_lower(half.root, L)
            turn = solve_lower(sigma, back) / jnp.sqrt(dt)
            K, one = (turn - turn.T) / 4, jnp.eye(len(start), dtype=start.dtype)
            # (1 - K)^-1 (1 + K), and (1 - K)^T (1 - K) = 1 - K K.
            turned = solve_positive(one - K @ K, (one + K) @ ((one + K) @ xi))
        return Straight(xi, log_volume, middle, f * dt + jnp.sqrt(dt) * sigma @ turned)


class Contraction(NamedTuple):
    """The mean Jacobian A of the drift over N(m, P), as the cubature points show it.

    Attributes:
        slopes: A R.
        root: R, the lower triangular factor of P.
    """

    slopes: Matrix
    root: Matrix


def carried(
    dynamics: AbstractEquation,
    start: State,
    dt: Scalar,
    steps: int | Int[Array, ""],
    order: int | Int[Array, ""],
) -> tuple[State, Matrix, Contraction]:
    """The moments of `Cubature(steps, order)`, and the contraction half way; `steps` and `order` may be
    traced, where no gradient is asked for.

    All stages of all steps are one loop, whose body is compiled once: k_i is the rate at y + ahead_i h
    k_(i-1), the step is h sum_i weight_i k_i.
    """
    ahead, weight = (jnp.asarray(table, start.dtype)[order // 2 - 1] for table in (AHEAD, WEIGHT))
    h, middle = dt / steps, order * steps // 2  # the stage at dt/2

    def stage(i, carry):
        y, reached, k, half = carry
        y = jax.tree.map(lambda old, new: jnp.where(i % order == 0, new, old), y, reached)
        k, now = _rates(dynamics, start, *_moved(y, k, ahead[i % order] * h))
        half = jax.tree.map(lambda old, new: jnp.where(i == middle, new, old), half, now)
        return y, _moved(reached, k, weight[i % order] * h), k, half

    f, sigma = dynamics.drift_and_diffusion(start)
    y, k = (jnp.zeros_like(start), jnp.zeros_like(sigma)), (f, sigma @ sigma.T)  # P = 0: all points are one
    begun = (y, _moved(y, k, weight[0] * h), k, Contraction(jnp.zeros_like(sigma), jnp.zeros_like(sigma)))
    _, (shift, P), _, half = jax.lax.fori_loop(1, order * steps, stage, begun)
    return shift, cholesky(P), half


def _rates(dynamics: AbstractEquation, start: State, shift: State, P: Matrix):
    """<f> and <f d^T> + <d f^T> + <sigma sigma^T>; A and P."""
    dimension, root = len(start), cholesky(P)
    arms = root.T * dimension**0.5
    d = jnp.concatenate([arms, -arms])
    uniform = dynamics.noise_is_uniform
    f, sigma = jax.vmap(dynamics.drift_and_diffusion, out_axes=(0, None if uniform else 0))(start + shift + d)
    noise = sigma @ sigma.T if uniform else jnp.einsum("kij,klj->il", sigma, sigma) / len(d)
    slopes = (f[:dimension] - f[dimension:]).T / (2 * dimension**0.5)
    contraction = slopes @ root.T
    return (f.mean(axis=0), contraction + contraction.T + noise), Contraction(slopes, root)


def _moved(state, rate, h):
    return jax.tree.map(lambda y, k: y + h * k, state, rate)
