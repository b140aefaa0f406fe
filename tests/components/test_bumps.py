"""Bumps: their formula, their gradient, and that they look at planes in many dimensions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Bumps


def filled(dimension, seed, count=24, scale=3.0):
    heights = jnp.asarray(np.random.default_rng(seed).standard_normal(count))
    return eqx.tree_at(lambda b: b.heights, Bumps.drawn(dimension, count, scale), heights)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_value_and_gradient_are_those_of_the_formula_written_out(dimension, x64, fresh_seed, quickly):
    bumps, generator = filled(dimension, fresh_seed), np.random.default_rng(fresh_seed)
    (A, a), (B, b) = jax.tree.map(np.asarray, (bumps.across, bumps.along))
    for z in generator.standard_normal((4, dimension)):
        value, gradient = 0.0, np.zeros(dimension)
        for k, height in enumerate(np.asarray(bumps.heights)):
            x, y = z @ A[:, k] - a[k], z @ B[:, k] - b[k]
            bump = height * np.exp(-(x**2 + y**2) / 2)
            value, gradient = value + bump, gradient - bump * (x * A[:, k] + y * B[:, k])
        np.testing.assert_allclose(bumps(jnp.asarray(z)), value, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(bumps.gradient(jnp.asarray(z)), gradient, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(jax.grad(bumps)(jnp.asarray(z)), gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dimension", [2, 3, 12])
def test_every_plane_is_spanned_by_two_orthogonal_directions_of_length_scale(dimension, x64):
    bumps = Bumps.drawn(dimension, 50, 3.0)
    A, B = np.asarray(bumps.across[0]), np.asarray(bumps.along[0])
    for product, wanted in ((A * A, 9.0), (B * B, 9.0), (A * B, 0.0)):
        np.testing.assert_allclose(product.sum(axis=0), wanted, atol=1e-12)


def test_in_two_dimensions_a_bump_is_round_and_of_width_one_over_scale(x64):
    bumps = eqx.tree_at(lambda b: b.heights, Bumps.drawn(2, 8, 3.0), jnp.zeros(8).at[3].set(2.0))
    M = np.stack([bumps.across[0][:, 3], bumps.along[0][:, 3]])
    center = np.linalg.solve(M, [bumps.across[1][3], bumps.along[1][3]])
    for angle in np.linspace(0, 6, 7):
        z = center + 0.4 * np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(bumps(jnp.asarray(z)), 2 * np.exp(-(1.2**2) / 2), rtol=1e-12)
