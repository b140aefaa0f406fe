"""Wells as wide as the states in them: the logarithm of a mixture of Gaussians."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Scalar, State

# The part of the density that stays the base's: beyond the Gaussians the term levels off at its logarithm.
BACKGROUND = 1e-4
# The logarithm of the weight of a Gaussian that is not there, and 1 / width: narrower than any base.
ABSENT, NARROW = -1e4, 100.0


class Mixture(eqx.Module):
    """m(z) = -a log(sum_k p_k(z) / q(z) + B) + sum_k b_k r_k(z), beside a base -log q.

    p_k are weighted Gaussians, r_k their shares p_k / (sum_j p_j + B q), and B is small. With a = 1 and b = 0
    the base and m together are -log(sum_k p_k + B q). Wells that lie far apart, each with a shape of its own,
    are a few of these, and very many steps, bumps or powers. The Gaussians come from the recorded states
    and stay as they are; a and b, which say how deep the wells are, are learned from the transitions, so the
    states need not be stationary. m is bounded whatever they are.

    Attributes:
        whitening: R_k with |R_k^T (z - c_k)|^2 / 2 in the exponent, `(K, D, D)`.
        centers: c_k.
        log_weights: Logarithms of the factors before the exponentials.
        share: a.
        offsets: b.
    """

    whitening: Float[Array, "K D D"]
    centers: Float[Array, "K D"]
    log_weights: Float[Array, " K"]
    share: Float[Array, " 1"]
    offsets: Float[Array, " K"]

    @classmethod
    def absent(cls, dimension: int, count: int) -> "Mixture":
        """Room for so many Gaussians, none of which is there."""
        return cls(
            whitening=jnp.tile(NARROW * jnp.eye(dimension), (count, 1, 1)),
            centers=jnp.zeros((count, dimension)),
            log_weights=jnp.full(count, ABSENT),
            share=jnp.zeros(1),
            offsets=jnp.zeros(count),
        )

    def of(
        self, weights: np.ndarray, centers: np.ndarray, covariances: np.ndarray, *, log_factor: float = 0.0
    ) -> "Mixture":
        """The same with these Gaussians, times a factor that makes up for the base's; a and b are zero."""
        count, dimension = centers.shape
        full = Mixture.absent(dimension, len(self.offsets))
        # C = L L^T, so R = L^-T.
        R = np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)
        size = np.sum(np.log(np.diagonal(R, axis1=1, axis2=2)), axis=1)
        return eqx.tree_at(
            lambda m: (m.whitening, m.centers, m.log_weights),
            full,
            (
                full.whitening.at[:count].set(R),
                full.centers.at[:count].set(centers),
                full.log_weights.at[:count].set(np.log(weights) + size + log_factor),
            ),
        )

    def __call__(self, z: State, base: Scalar) -> Scalar:
        """m(z), where -log q is `base` up to a constant that `log_weights` hold."""
        log_ratios, _ = self._log_ratios(z, base)
        r = jax.nn.softmax(log_ratios)[:-1]
        return -self.share[0] * jax.nn.logsumexp(log_ratios) + jnp.dot(self.offsets, r)

    def gradient(self, z: State, base: Scalar, slope: State) -> State:
        """grad m(z), with `slope` the base's; a test compares it to `jax.grad`."""
        log_ratios, pulls = self._log_ratios(z, base)
        r = jax.nn.softmax(log_ratios)[:-1]
        slopes = slope - pulls  # of the log-ratios; that of the background is zero
        mean = r @ slopes
        return (self.offsets * r) @ slopes - (self.share[0] + jnp.dot(self.offsets, r)) * mean

    def _log_ratios(self, z: State, base: Scalar) -> tuple[Float[Array, " k"], Float[Array, "K D"]]:
        """log p_k / q and, last, log B; and the slopes of -log p_k."""
        count, dimension = self.centers.shape
        # R^T (z - c) of all Gaussians as one product with a matrix that is the same for the whole batch.
        R = self.whitening.transpose(1, 0, 2).reshape(dimension, -1)
        shift = jnp.einsum("kd,kde->ke", self.centers, self.whitening)
        w = (z @ R).reshape(count, dimension) - shift
        log_ratios = self.log_weights - jnp.sum(w**2, axis=1) / 2 + base
        pulls = jnp.einsum("kde,ke->kd", self.whitening, w)
        return jnp.append(log_ratios, float(np.log(BACKGROUND))), pulls
