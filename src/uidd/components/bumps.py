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
    """b(z) = sum_k r_k exp(-(x_k^2 + y_k^2) / 2), where (x_k, y_k) are coordinates in a plane of its own.

    In two dimensions these are round bumps of width 1 / scale. In more a bump around a point would hold next
    to no data; there each one looks at the states in some plane, in which they are dense. A valley beside a
    plain is a few of these and many steps of a network, so data that know little do better with bumps.

    Attributes:
        across: A and a of x = z A - a, a column for every bump.
        along: B and b of y = z B - b.
        heights: r.
        scale: 1 / width.
    """

    across: tuple[Float[Array, "D n"], Float[Array, " n"]]
    along: tuple[Float[Array, "D n"], Float[Array, " n"]]
    heights: Float[Array, " n"]
    scale: float = eqx.field(static=True)

    @classmethod
    def drawn(cls, dimension: int, count: int, scale: float) -> "Bumps":
        """Centers and planes from a Sobol sequence, the same every time; all heights zero."""
        points = scipy.stats.qmc.Sobol(3 * dimension, rng=3).random(1 << (count - 1).bit_length())
        normal = scipy.stats.norm.ppf(points[:count].clip(1e-3, 1 - 1e-3)).reshape(count, 3, dimension)
        centers, planes = SPREAD * normal[:, 0], np.zeros((count, dimension, 2))
        planes[..., : min(2, dimension)], _ = np.linalg.qr(normal[:, 1:].transpose(0, 2, 1))
        across, along = (
            (jnp.asarray(scale * A.T, float), jnp.asarray(scale * np.sum(A * centers, axis=1), float))
            for A in (planes[..., 0], planes[..., 1])
        )
        return cls(across, along, jnp.zeros(count), scale)

    def __call__(self, z: State) -> Scalar:
        """b(z)."""
        return jnp.dot(self._unit_height(*self._plane(z)), self.heights)

    def gradient(self, z: State) -> State:
        """grad b(z); a test compares it to `jax.grad`."""
        x, y = self._plane(z)
        bump = self._unit_height(x, y) * self.heights
        return -(self.across[0] @ (x * bump) + self.along[0] @ (y * bump))

    def _plane(self, z: State) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        (A, a), (B, b) = self.across, self.along
        return z @ A - a, z @ B - b

    @staticmethod
    def _unit_height(x: Float[Array, " n"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.exp(-(x**2 + y**2) / 2)
