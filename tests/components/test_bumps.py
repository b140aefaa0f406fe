"""Bumps: their formula, their gradient, their shape, and that they look at planes in many dimensions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Bumps


def filled(dimension, seed, count=24, scale=3.0):
    bumps = Bumps.drawn(dimension, count, scale)
    heights = jnp.asarray(np.random.default_rng(seed).standard_normal(bumps.heights.shape))
    return eqx.tree_at(lambda b: b.heights, bumps, heights)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_value_and_gradient_are_those_of_the_formula_written_out(dimension, x64, fresh_seed, quickly):
    bumps, generator = filled(dimension, fresh_seed), np.random.default_rng(fresh_seed)
    planes, centers, heights = jax.tree.map(np.asarray, (bumps.planes, bumps.centers, bumps.heights))
    for z in generator.standard_normal((4, dimension)):
        value, gradient = 0.0, np.zeros(dimension)
        for p, k in np.ndindex(heights.shape):
            frame = planes[:, 2 * p : 2 * p + 2]
            away = z @ frame - centers[p, :, k]
            bracket = max(1 - away @ away / 16, 0.0)
            value += heights[p, k] * bracket**8
            gradient -= heights[p, k] * bracket**7 * frame @ away
        np.testing.assert_allclose(bumps(jnp.asarray(z)), value, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(bumps.gradient(jnp.asarray(z)), gradient, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(jax.grad(bumps)(jnp.asarray(z)), gradient, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dimension", [2, 3, 12])
def test_every_plane_is_spanned_by_two_orthogonal_directions_of_length_scale(dimension, x64):
    planes = np.asarray(Bumps.drawn(dimension, 50, 3.0).planes)
    A, B = planes[:, ::2], planes[:, 1::2]
    for product, wanted in ((A * A, 9.0), (B * B, 9.0), (A * B, 0.0)):
        np.testing.assert_allclose(product.sum(axis=0), wanted, atol=1e-12)


def test_in_two_dimensions_a_bump_is_round_of_width_one_over_scale_and_nearly_gaussian(x64):
    """(1 - x / 16)^8 = e^(-x / 2 - x^2 / 64 - ...): at x = 1.2^2 that is 3 % below the Gaussian."""
    bumps = Bumps.drawn(2, 8, 3.0)
    bumps = eqx.tree_at(lambda b: b.heights, bumps, jnp.zeros_like(bumps.heights).at[1, 2].set(2.0))
    center = np.asarray(bumps.centers)[1, :, 2] / 3.0
    for angle in np.linspace(0, 6, 7):
        z = center + 0.4 * np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(bumps(jnp.asarray(z)), 2 * np.exp(-(1.2**2) / 2), rtol=0.04)
        away = center + 4 / 3 * np.array([np.cos(angle), np.sin(angle)])
        assert abs(bumps(jnp.asarray(away))) < 1e-12


def test_there_are_at_least_as_many_as_asked_for_and_no_two_alike():
    for dimension in (1, 2, 5):
        bumps = Bumps.drawn(dimension, 21, 3.0)
        assert bumps.heights.size >= 21
        centers = np.asarray(bumps.centers).transpose(0, 2, 1)
        both = {tuple(np.round(c, 6)) for plane in centers for c in plane}
        assert len(both) == bumps.heights.size
