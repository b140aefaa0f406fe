"""Polynomials that stay bounded: what a potential looks like near a point, without what it does far away."""

from itertools import combinations_with_replacement
from math import factorial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Matrix, Scalar, State

# Coordinates are themselves within so many standard deviations of the data, and bounded beyond.
REACH, MARGIN = 6.0, 1.5
DEGREE, MOST_TERMS = 4, 350


class Polynomial(eqx.Module):
    """p(z) = l . u + u^T Q u / 2 + sum_k c_k prod_d h_{n_kd}(u_d).

    Where the data are u = z; beyond it levels off. The h_n are Hermite's polynomials, orthonormal under a
    unit Gaussian, and the n_k run over all terms of third and fourth degree; above eight dimensions, where
    these would be too many, over powers of single coordinates. Most potentials that people write down are
    such polynomials; those that are not begin like one.

    Attributes:
        linear: l.
        quadratic: Q, its lower triangle row by row.
        cubic: c_k of third degree.
        quartic: c_k of fourth degree.
        frame: Where only powers of single coordinates are present, the coordinates z A that they are powers
            of: the ones of the data may all be oblique to what is nonlinear.
    """

    linear: State
    quadratic: Float[Array, " q"]
    cubic: Float[Array, " c"]
    quartic: Float[Array, " k"]
    frame: Matrix | None = None

    @classmethod
    def zero(cls, dimension: int) -> "Polynomial":
        """No term present."""
        counts = [len(_exponents(dimension, degree)) for degree in (3, DEGREE)]
        quadratic = jnp.zeros(dimension * (dimension + 1) // 2)
        frame = jnp.eye(dimension) if dimension > 1 and counts[0] == dimension else None
        cubic, quartic = map(jnp.zeros, counts)
        return cls(jnp.zeros(dimension), quadratic, cubic, quartic, frame)

    @property
    def mixed(self) -> tuple[np.ndarray, np.ndarray]:
        """Which terms of third and fourth degree are products of several coordinates."""
        third, fourth = (_exponents(len(self.linear), degree) for degree in (3, DEGREE))
        return third.max(axis=1) < 3, fourth.max(axis=1) < DEGREE

    def __call__(self, z: State) -> Scalar:
        """p(z)."""
        u, _ = _bounded(z if self.frame is None else z @ self.frame)
        h, _ = _hermite(u)
        value = jnp.dot(self.linear, u) + u @ self._matrix(len(z)) @ u / 2
        for degree, c in self._higher:
            terms = h[:, degree] if _single(c, z) else jnp.prod(_factors(h, degree), axis=0)
            value += jnp.dot(terms, c)
        return value

    def gradient(self, z: State) -> State:
        """grad p(z); a test compares it to `jax.grad`."""
        u, slope = _bounded(z if self.frame is None else z @ self.frame)
        h, dh = _hermite(u)
        total = self.linear + self._matrix(len(z)) @ u
        for degree, c in self._higher:
            if _single(c, z):
                total += dh[:, degree] * c
            else:
                total += (_factors(dh, degree) * _others(_factors(h, degree))) @ c
        return total * slope if self.frame is None else self.frame @ (total * slope)

    @property
    def _higher(self):
        return ((3, self.cubic), (4, self.quartic))

    def _matrix(self, dimension: int) -> Matrix:
        """Q."""
        rows, columns = np.tril_indices(dimension)
        half = jnp.zeros((dimension, dimension)).at[rows, columns].set(self.quadratic)
        return half + half.T - jnp.diag(jnp.diag(half))


def _single(c: Float[Array, " k"], z: State) -> bool:
    """Whether the terms are powers of single coordinates, one for each."""
    return len(c) == len(z)


def _bounded(z: State) -> tuple[State, State]:
    """u = z within the reach, then levelling off, twice continuously differentiable; and du/dz."""
    inside = jnp.clip(z, -REACH, REACH)
    levelled = jnp.tanh((z - inside) / MARGIN)
    return inside + MARGIN * levelled, 1 - levelled**2


def _hermite(u: State) -> tuple[Float[Array, "D n"], Float[Array, "D n"]]:
    """h_0, ..., h_4 of every coordinate, and their derivatives h_n' = sqrt(n) h_{n-1}."""
    h = [jnp.ones_like(u), u]
    for n in range(2, DEGREE + 1):
        h.append((u * h[-1] - (n - 1) ** 0.5 * h[-2]) / n**0.5)
    dh = [jnp.zeros_like(u), *(n**0.5 * h[n - 1] for n in range(1, DEGREE + 1))]
    return jnp.stack(h, axis=1), jnp.stack(dh, axis=1)


def _factors(h: Float[Array, "D n"], degree: int) -> Float[Array, "D k"]:
    """h_{n_kd}(u_d). By products with ones and zeros: looking up by index is slow on a CPU."""
    exponents = _exponents(len(h), degree)
    chosen = (exponents.T[:, None, :] == np.arange(DEGREE + 1)[:, None]).astype(np.float32)
    return jnp.einsum("dn,dnk->dk", h, chosen.astype(h.dtype))


def _others(factors: Float[Array, "D k"]) -> Float[Array, "D k"]:
    """For every d the product over all other coordinates."""
    before, after = [jnp.ones_like(factors[0])], [jnp.ones_like(factors[0])]
    for d in range(len(factors) - 1):
        before.append(before[-1] * factors[d])
        after.append(after[-1] * factors[-1 - d])
    return jnp.stack(before) * jnp.stack(after[::-1])


def _exponents(dimension: int, degree: int) -> np.ndarray:
    """n_k, one row a term."""
    unit = np.eye(dimension, dtype=int)
    every = factorial(dimension + DEGREE - 1) // (factorial(dimension - 1) * factorial(DEGREE))
    if every > MOST_TERMS:
        return degree * unit
    places = combinations_with_replacement(range(dimension), degree)
    return np.stack([unit[list(place)].sum(axis=0) for place in places])
