"""A mixture of Gaussians from several Euler-Maruyama steps inside one interval."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._checks import whole_number
from .._types import Matrix, Scalar, State
from ..dynamics import AbstractEquation, cholesky, solve_lower
from .abstract import AbstractLikelihood


class DynGMA(AbstractLikelihood):
    """p(z') = sum_k w_k N(z'; m_k, P_k), the multi-step mixture of Zhu and Li (2024).

    The interval is cut into `steps` parts, and every part into `substeps` Euler steps of length
    h = dt / (steps substeps). A part spreads a point x: its first Euler step gives the Gaussian
    N(x + h f(x), h sigma(x) sigma(x)^T), and each further one replaces a Gaussian N(m, L L^T) by the Gaussian
    with the mean and the covariance of its image, computed with K = 2D + 1 sigma points,

        m  and  m +- r L_j  (L_j: column j of L),  weights  1 - D/r^2  and  1/(2 r^2),  r^2 = max(3, D + 1).

    Between two parts every Gaussian branches into these K points. The last part starts from
    K^(steps - 1) points and gives the mixture: normalised always, and `EulerMaruyama` for one step of one
    substep.

    For a linear drift and a constant sigma, mean and covariance are exactly those of the Euler chain: their
    error is of first order in h. Skewness and several modes come from the branches. So `steps` buys shape,
    `substeps` buys moments; h must be short enough for Euler's scheme to be stable at the sigma points.

    Where it is not Zhu and Li's: they propagate covariances with the Jacobian of the drift, which is not
    needed here, and have r^2 = D + 1; the two agree from two dimensions on, and r^2 = 3 on a line is
    Gauss-Hermite quadrature. The arms L_j depend on the order of the coordinates unless L is diagonal;
    another order then changes the density by the error of the quadrature.

    Drift and sigma are evaluated (1 + (substeps - 1) K) (1 + K + ... + K^(steps - 1)) times.

    Attributes:
        steps: Parts of the interval; the density branches between them.
        substeps: Euler steps in a part.

    >>> [DynGMA(steps).evaluations(dimension=2) for steps in (1, 2, 3)]
    [1, 6, 31]
    """

    steps: int = eqx.field(static=True, default=2)
    substeps: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        whole_number("steps", self.steps)
        whole_number("substeps", self.substeps)

    def log_density(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> Scalar:
        """log sum_k w_k N(increment; m_k, P_k), with m_k counted from `start`."""
        weights, means, factors = self.mixture(dynamics, start, dt)

        def log_gaussian(mean: State, factor: Matrix) -> Scalar:
            noise = solve_lower(factor, increment - mean)
            return -jnp.dot(noise, noise) / 2 - jnp.sum(jnp.log(jnp.diag(factor)))

        terms = jax.vmap(log_gaussian)(means, factors)
        return jax.nn.logsumexp(terms, b=weights) - len(start) / 2 * np.log(2 * np.pi)

    def mixture(
        self, dynamics: AbstractEquation, start: State, dt: Scalar
    ) -> tuple[np.ndarray, Float[Array, "K D"], Float[Array, "K D D"]]:
        """Weights, means counted from `start`, and lower factors of the covariances."""
        h, dimension = dt / (self.steps * self.substeps), len(start)
        weights, means = np.ones(1), jnp.zeros_like(start)[None]
        means, factors = jax.vmap(lambda x: self._spread(dynamics, start, x, h))(means)
        for _ in range(self.steps - 1):
            points = jax.vmap(_sigma_points)(means, factors).reshape(-1, dimension)
            weights = np.outer(weights, _sigma_weights(dimension)).reshape(-1)
            means, factors = jax.vmap(lambda x: self._spread(dynamics, start, x, h))(points)
        return weights, means, factors

    def evaluations(self, dimension: int) -> int:
        """How often the drift and sigma are evaluated for one transition."""
        K = 2 * dimension + 1
        return (1 + (self.substeps - 1) * K) * sum(K**step for step in range(self.steps))

    def _spread(
        self, dynamics: AbstractEquation, start: State, point: State, h: Scalar
    ) -> tuple[State, Matrix]:
        """The Gaussian to which `substeps` Euler steps take a point."""
        f, sigma = dynamics.drift_and_diffusion(start + point)
        mean, factor = point + h * f, jnp.sqrt(h) * sigma
        w = jnp.asarray(_sigma_weights(len(start)), mean.dtype)
        for _ in range(self.substeps - 1):
            x = _sigma_points(mean, factor)
            f, sigma = jax.vmap(dynamics.drift_and_diffusion)(start + x)
            image = x + h * f
            mean = w @ image
            apart = image - mean
            covariance = jnp.einsum("k,ki,kj->ij", w, apart, apart) + h * jnp.einsum(
                "k,kil,kjl->ij", w, sigma, sigma
            )
            factor = cholesky(covariance)
        return mean, factor


def _reach(dimension: int) -> float:
    return max(3, dimension + 1) ** 0.5


def _sigma_points(mean: State, factor: Matrix) -> Float[Array, "K D"]:
    arms = _reach(len(mean)) * factor.T
    return mean + jnp.concatenate([jnp.zeros_like(arms[:1]), arms, -arms])


def _sigma_weights(dimension: int) -> np.ndarray:
    """The weights belong to the rule, not to the model: plain numbers, all positive."""
    arm = 1 / (2 * _reach(dimension) ** 2)
    return np.array([1 - 2 * dimension * arm] + 2 * dimension * [arm])
