"""Products of Hermite's polynomials: all polynomials up to a total degree."""

from functools import cache
from itertools import combinations_with_replacement
from math import comb

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import State

# Without a sign, so that JAX does not look for negative ones: in a process that had worked in both precisions
# that step added integers of two widths, which is an error (seen with jax 0.10.2).
INDEX = np.uint32


class HermiteProducts(eqx.Module):
    """prod_d h_{n_d}(z_d) for all n with n_1 + ... + n_D <= degree; the first is one.

    The h_n are orthonormal under a unit Gaussian, so the products are.
    """

    dimension: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)

    def __len__(self) -> int:
        return comb(self.dimension + self.degree, self.degree)

    @property
    def exponents(self) -> np.ndarray:
        """n, a row a product."""
        return _exponents(self.dimension, self.degree)

    def __call__(self, z: State) -> Float[Array, " p"]:
        """The value of every product."""
        table = jnp.stack(_values(z, self.degree)).ravel()
        return jnp.prod(table[_factors(self.dimension, self.degree)], axis=1)

    def gradients(self, z: State) -> Float[Array, "p D"]:
        """The gradient of every product, a row each; a test compares them to `jax.jacfwd`."""
        h = _values(z, self.degree)
        # h_n' = sqrt(n) h_{n-1}.
        slopes = [jnp.zeros_like(z), *(n**0.5 * h[n - 1] for n in range(1, self.degree + 1))]
        factors = self._chosen(h)
        ones = jnp.ones_like(factors[:, :1])
        before = jnp.cumprod(jnp.concatenate([ones, factors[:, :-1]], axis=1), axis=1)
        after = jnp.cumprod(jnp.concatenate([ones, factors[:, :0:-1]], axis=1), axis=1)[:, ::-1]
        return self._chosen(slopes) * before * after

    def _chosen(self, values: list[State]) -> Float[Array, "p D"]:
        return jnp.stack(values)[self.exponents.astype(INDEX), np.arange(self.dimension, dtype=INDEX)]


def _values(z: State, degree: int) -> list[State]:
    """h_0, ..., h_degree of every coordinate."""
    h = [jnp.ones_like(z), z]
    for n in range(2, degree + 1):
        h.append((z * h[-1] - (n - 1) ** 0.5 * h[-2]) / n**0.5)
    return h[: degree + 1]


@cache
def _exponents(dimension: int, degree: int) -> np.ndarray:
    unit = np.eye(dimension, dtype=int)
    places = [p for k in range(degree + 1) for p in combinations_with_replacement(range(dimension), k)]
    return np.stack([unit[list(place)].sum(axis=0) for place in places])


@cache
def _factors(dimension: int, degree: int) -> np.ndarray:
    """Where the factors other than one stand in a table of h_n(z_d), n by n; at most `degree` a product."""
    places = np.zeros((comb(dimension + degree, degree), max(degree, 1)), INDEX)
    for row, exponents in zip(places, _exponents(dimension, degree), strict=True):
        (own,) = np.nonzero(exponents)
        row[: len(own)] = exponents[own] * dimension + own
    return places
