"""Bumps: what a potential does in one place and nowhere else."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Float

from .._types import Scalar, State

# Centers are spread as the states are, which are of unit size, and half as wide again.
SPREAD = 1.5
# Planes above two dimensions, and copies of the plane in two. (Not one: its matrix products, in a batch of
# one, would be compiled to something seven times slower.)
PLANES, COPIES = 8, 2


class Bumps(eqx.Module):
    """b(z) = sum_pk r_pk (1 - |w_p - c_pk|^2 / 16)_+^8, where w_p are the coordinates of z in the p-th plane.

    (1 - x^2 / 16)^8 is nearly e^(-x^2 / 2), but vanishes beyond four widths, and a CPU makes powers faster
    than exponentials. In two dimensions these are round bumps of width 1 / scale. In more, a bump around a
    point would hold next to no data; there each one looks at the states in one of some drawn planes, in
    which they are dense. A valley beside a plain is a few of these and many steps of a network, so data that
    know little do better with bumps.

    Attributes:
        planes: The w_p = z P_p in units of the width, `(D, 2 planes)`.
        centers: c, `(planes, 2, n)`.
        heights: r, `(planes, n)`.
        scale: 1 / width.
    """

    planes: Float[Array, "D w"]
    centers: Float[Array, "p 2 n"]
    heights: Float[Array, "p n"]
    scale: float = eqx.field(static=True)

    @classmethod
    def drawn(cls, dimension: int, count: int, scale: float) -> "Bumps":
        """Centers and planes from a Sobol sequence, the same every time; all heights zero."""
        many = PLANES if dimension > 2 else COPIES
        each = -(-count // many)
        frames = np.tile(np.eye(dimension, 2), (many, 1, 1))
        if dimension > 2:
            frames, _ = np.linalg.qr(_normal(many, 2 * dimension).reshape(many, dimension, 2))
        centers = SPREAD * _normal(many * each, 2).reshape(each, many, 2)
        return cls(
            planes=jnp.asarray(scale * frames.transpose(1, 0, 2).reshape(dimension, 2 * many), float),
            centers=jnp.asarray(scale * centers.transpose(1, 2, 0), float),
            heights=jnp.zeros((many, each)),
            scale=scale,
        )

    def __call__(self, z: State) -> Scalar:
        """b(z)."""
        return jnp.sum(self._rest(self._places(z)) ** 8 * self.heights)

    def gradient(self, z: State) -> State:
        """grad b(z); a test compares it to `jax.grad`.

        In a plane it is -sum_k r_k t_k^7 (w - c_k), t the brackets.
        """
        w = self._places(z)
        c = jnp.concatenate([jnp.ones_like(self.centers[:, :1]), self.centers], axis=1)
        sums = jnp.einsum("pn,pin->pi", self._rest(w) ** 7 * self.heights, c)
        return -self.planes @ (w * sums[:, :1] - sums[:, 1:]).reshape(-1)

    def _places(self, z: State) -> Float[Array, "p 2"]:
        return (z @ self.planes).reshape(-1, 2)

    def _rest(self, w: Float[Array, "p 2"]) -> Float[Array, "p n"]:
        """1 - |w - c|^2 / 16 where it is positive. As |w|^2 - 2 w . c + |c|^2: one matrix product."""
        one, c = jnp.ones_like(w[:, :1]), self.centers
        features = jnp.concatenate([jnp.sum(w**2, axis=1, keepdims=True), w, one], axis=1)
        factors = jnp.concatenate(
            [jnp.ones_like(c[:, :1]), -2 * c, jnp.sum(c**2, axis=1, keepdims=True)], axis=1
        )
        return jnp.maximum(1 - jnp.einsum("pf,pfn->pn", features, factors) / 16, 0.0)


def _normal(count: int, size: int) -> np.ndarray:
    points = scipy.stats.qmc.Sobol(size, rng=3).random(1 << (count - 1).bit_length())[:count]
    return scipy.stats.norm.ppf(points.clip(1e-3, 1 - 1e-3))
