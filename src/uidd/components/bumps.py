"""Bumps: what a potential does in one place and nowhere else."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Float

from .._types import Scalar, State

# Centers are spread as the states are, which are of unit size, and half as wide again.
SPREAD = 1.5


class Bumps(eqx.Module):
    """b(z) = sum_k r_k exp(-|P_k z - p_k|^2 / 2), each P_k a plane at a scale of its own.

    In two dimensions these are round bumps of width 1 / scale. In more a bump around a point would hold next
    to no data; there each one looks at the states in a plane of its own, in which they are dense. A valley
    beside a plain is a few of these and many steps of a network, so data that know little do better with
    bumps: the force of the Mueller-Brown surface from 15,000 frames comes out a third better.

    Attributes:
        planes: The rows of all P_k, `(2, D, n)`; one row where D = 1.
        centers: p_k, `(2, n)`.
        heights: r_k.
        scale: 1 / width.
    """

    planes: Float[Array, "e D n"]
    centers: Float[Array, "e n"]
    heights: Float[Array, " n"]
    scale: float = eqx.field(static=True)

    @classmethod
    def drawn(cls, dimension: int, count: int, scale: float) -> "Bumps":
        """Centers and planes from a Sobol sequence, the same every time; all heights zero."""
        points = scipy.stats.qmc.Sobol(3 * dimension, rng=5).random(1 << (count - 1).bit_length())
        normal = scipy.stats.norm.ppf(points[:count].clip(1e-3, 1 - 1e-3)).reshape(count, 3, dimension)
        planes, _ = np.linalg.qr(normal[:, 1:].transpose(0, 2, 1))  # (n, D, min(2, D))
        centers = SPREAD * np.einsum("nde,nd->en", planes, normal[:, 0])
        parts = (scale * planes.transpose(2, 1, 0), scale * centers, np.zeros(count))
        return cls(*(jnp.asarray(part, jnp.result_type(float)) for part in parts), scale)

    def __call__(self, z: State) -> Scalar:
        """b(z)."""
        return jnp.dot(self._profile(z)[1], self.heights)

    def gradient(self, z: State) -> State:
        """grad b(z); a test compares it to `jax.grad`."""
        offset, profile = self._profile(z)
        return -jnp.einsum("edn,en->d", self.planes, offset * (profile * self.heights))

    def _profile(self, z: State) -> tuple[Float[Array, "e n"], Float[Array, " n"]]:
        """P_k z - p_k, and the bumps at unit height."""
        offset = jnp.einsum("edn,d->en", self.planes, z) - self.centers
        return offset, jnp.exp(-jnp.sum(offset**2, axis=0) / 2)
