"""A Gaussian carried over the interval by cubature points."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from .._checks import fail, whole_number
from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, cholesky
from .gaussian import AbstractGaussian

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
        return carried(dynamics, start, dt, self.steps, self.order)


def carried(
    dynamics: AbstractEquation,
    start: State,
    dt: Scalar,
    steps: int | Int[Array, ""],
    order: int | Int[Array, ""],
) -> tuple[State, Matrix]:
    """The moments of `Cubature(steps, order)`; both may be traced, where no gradient is asked for.

    All stages of all steps are one loop, whose body is compiled once: k_i is the rate at y + ahead_i h
    k_(i-1), the step is h sum_i weight_i k_i.
    """
    ahead, weight = (jnp.asarray(table, start.dtype)[order // 2 - 1] for table in (AHEAD, WEIGHT))
    h = dt / steps

    def stage(i, carry):
        y, reached, k = carry
        y = jax.tree.map(lambda old, new: jnp.where(i % order == 0, new, old), y, reached)
        k = _rates(dynamics, start, *_moved(y, k, ahead[i % order] * h))
        return y, _moved(reached, k, weight[i % order] * h), k

    f, sigma = dynamics.drift_and_diffusion(start)
    y, k = (jnp.zeros_like(start), jnp.zeros_like(sigma)), (f, sigma @ sigma.T)  # P = 0: all points are one
    begun = (y, _moved(y, k, weight[0] * h), k)
    _, (shift, P), _ = jax.lax.fori_loop(1, order * steps, stage, begun)
    return shift, cholesky(P)


def _rates(dynamics: AbstractEquation, start: State, shift: State, P: Matrix) -> tuple[State, Matrix]:
    """<f>, and <f d^T> + <d f^T> + <sigma sigma^T>."""
    dimension = len(start)
    arms = cholesky(P).T * dimension**0.5
    d = jnp.concatenate([arms, -arms])
    uniform = dynamics.noise_is_uniform
    f, sigma = jax.vmap(dynamics.drift_and_diffusion, out_axes=(0, None if uniform else 0))(start + shift + d)
    noise = sigma @ sigma.T if uniform else jnp.einsum("kij,klj->il", sigma, sigma) / len(d)
    contraction = f.T @ d / len(d)
    return f.mean(axis=0), contraction + contraction.T + noise


def _moved(state, rate, h):
    return jax.tree.map(lambda y, k: y + h * k, state, rate)
