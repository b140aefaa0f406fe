"""Products of Hermite's polynomials: orthonormal, complete up to their degree, with the right gradients."""

from itertools import product
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import HermiteProducts

SIZES = [(1, 0), (1, 5), (2, 4), (3, 1), (4, 3)]


@pytest.mark.parametrize(("dimension", "degree"), SIZES)
def test_products_are_orthonormal_under_a_unit_gaussian(dimension, degree, x64):
    """Gauss-Hermite quadrature with degree + 1 nodes is exact for polynomials of degree 2 degree + 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(degree + 1)
    grid = np.array(list(product(nodes, repeat=dimension)))
    weight = np.prod(list(product(weights / weights.sum(), repeat=dimension)), axis=1)
    values = np.asarray(jax.vmap(HermiteProducts(dimension, degree))(jnp.asarray(grid)))
    np.testing.assert_allclose((weight[:, None] * values).T @ values, np.eye(values.shape[1]), atol=1e-12)


@pytest.mark.parametrize(("dimension", "degree"), SIZES)
def test_there_are_as_many_as_polynomials_of_the_degree_and_the_first_is_one(dimension, degree, fresh_seed):
    basis = HermiteProducts(dimension, degree)
    z = jnp.asarray(np.random.default_rng(fresh_seed).standard_normal(dimension), jnp.float32)
    values = basis(z)
    assert len(basis) == len(values) == len(basis.gradients(z)) == comb(dimension + degree, degree)
    assert values[0] == 1
    assert len(set(map(tuple, basis.exponents))) == len(basis)
    assert basis.exponents.sum(axis=1).max() == degree


@pytest.mark.parametrize(("dimension", "degree"), SIZES)
def test_gradients_are_those_of_automatic_differentiation(dimension, degree, fresh_seed, x64):
    """At states with zeros too, where a product divided by a factor would not be a number."""
    basis, generator = HermiteProducts(dimension, degree), np.random.default_rng(fresh_seed)
    states = np.concatenate([2 * generator.standard_normal((20, dimension)), np.zeros((1, dimension))])
    own = jax.jit(jax.vmap(basis.gradients))(states)
    expected = jax.jit(jax.vmap(jax.jacfwd(basis.__call__)))(states)
    np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-10)


def test_a_polynomial_is_a_sum_of_products(fresh_seed, x64):
    """x^3 y - 2 x z^2 + 5 y - 1 from its values at random states, and its gradient from the same sum."""
    states = np.random.default_rng(fresh_seed).standard_normal((200, 3))
    basis = HermiteProducts(3, 4)

    def p(state):
        x, y, z = state
        return x**3 * y - 2 * x * z**2 + 5 * y - 1

    values, X, G = (
        np.asarray(each) for each in jax.jit(jax.vmap(lambda z: (p(z), basis(z), basis.gradients(z))))(states)
    )
    c, *_ = np.linalg.lstsq(X, values, rcond=None)
    np.testing.assert_allclose(X @ c, values, atol=1e-9)
    expected = jax.jit(jax.vmap(jax.grad(p)))(states)
    np.testing.assert_allclose(np.einsum("npd,p->nd", G, c), expected, atol=1e-8)
