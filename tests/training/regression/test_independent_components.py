"""The coordinates of V's powers: independent sources are found again, and wells oblique to all others."""

import jax
import numpy as np
import pytest

from uidd.models import Architecture
from uidd.training.regression.independent_components import (
    has_frame,
    in_frame,
    independent_components,
    laid_out,
)


def wells_and_noise(dimension, seed, count=20_000):
    """Two wells in the first coordinate, Gaussians in the others, turned and stretched."""
    generator = np.random.default_rng(seed)
    sources = generator.standard_normal((count, dimension))
    sources[:, 0] = np.where(generator.random(count) < 0.5, -1, 1) + 0.3 * sources[:, 0]
    mixing = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
    return sources, sources @ mixing.T * np.linspace(0.5, 2.0, dimension)


@pytest.mark.parametrize("dimension", [3, 12])
def test_two_wells_oblique_to_all_coordinates_are_one_of_the_new_ones(dimension, fresh_seed):
    """Up to its sign. Each of the D - 1 Gaussians mixes in by about 1 / sqrt(count)."""
    sources, states = wells_and_noise(dimension, fresh_seed)
    found = states @ independent_components(states)
    np.testing.assert_allclose(np.cov(found, rowvar=False), np.eye(dimension), atol=1e-8)
    alike = np.abs(np.corrcoef(sources[:, 0], found, rowvar=False)[0, 1:])
    assert alike.max() > 0.99


def test_gaussian_states_still_give_coordinates_of_unit_covariance():
    states = np.random.default_rng(0).standard_normal((5000, 10))
    found = states @ independent_components(states)
    np.testing.assert_allclose(np.cov(found, rowvar=False), np.eye(10), atol=1e-8)


def test_only_potentials_of_many_dimensions_have_a_frame_and_nothing_else_changes(random_dynamics):
    for dimension, framed in ((2, False), (8, False), (9, True)):
        assert has_frame(random_dynamics(Architecture(), dimension, 0)) == framed
    assert not has_frame(random_dynamics(Architecture().plain, 9, 0))
    dynamics = random_dynamics(Architecture(), 9, 0)
    turned = in_frame(dynamics, 2 * np.eye(9))
    same = [np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (dynamics, turned)), strict=True)]
    assert same.count(False) == 1


@pytest.mark.parametrize("dimension", [2, 5])
def test_units_laid_out_over_other_coordinates_are_the_same_functions_of_these(
    dimension, random_dynamics, x64
):
    """u'(z) = u(z A) for the network of V and for its bumps; S and the polynomial stay."""
    dynamics = random_dynamics(Architecture(), dimension, 0)
    generator = np.random.default_rng(0)
    A, z = generator.standard_normal((dimension, dimension)), generator.standard_normal(dimension)
    before, after = (each.potential_component for each in (dynamics, laid_out(dynamics, A)))
    np.testing.assert_allclose(
        after.nonlinear.network(z), before.nonlinear.network(z @ A), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(after.nonlinear.bumps(z), before.nonlinear.bumps(z @ A), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(after.stiffness, before.stiffness)
    np.testing.assert_allclose(after.nonlinear.polynomial(z), before.nonlinear.polynomial(z))
