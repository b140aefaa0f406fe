"""Drawn systems: their closed forms against automatic differentiation, their truth against quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.dynamics import matrix_divergence
from uidd.systems.langevin import entropy_production_by_quadrature
from uidd.systems.population import random_system
from uidd.systems.population.dynamics import draw_dynamics
from uidd.systems.population.landscapes import draw_landscape


@pytest.mark.parametrize("seed", range(12))
def test_divergences_are_those_of_the_fields(seed):
    generator = np.random.default_rng(seed)
    dimension = int(generator.integers(1, 5))
    with jax.enable_x64(True):
        _, _, landscape = draw_landscape(generator, dimension)
        _, dynamics = draw_dynamics(generator, dimension, landscape)
        z = jnp.asarray(generator.standard_normal(dimension))
        np.testing.assert_allclose(
            dynamics.dissipation_divergence(z), matrix_divergence(dynamics.dissipation, z), atol=1e-12
        )
        np.testing.assert_allclose(
            dynamics.circulation_divergence(z), matrix_divergence(dynamics.circulation, z), atol=1e-10
        )
        W = dynamics.circulation(z)
        np.testing.assert_allclose(W, -W.T, atol=1e-14)


@pytest.mark.slow
def test_the_rate_is_that_of_quadrature():
    """Seed 3, in the plane: draws from e^-V against a fine grid, to five errors of the draws."""
    system = random_system(3)
    rate, error = system.entropy_production_rate
    low, high = system.draws.reshape(-1, 2).min(axis=0) - 1, system.draws.reshape(-1, 2).max(axis=0) + 1
    with jax.enable_x64(True):
        exact = entropy_production_by_quadrature(
            jax.tree.map(lambda leaf: jnp.asarray(leaf, float), system.dynamics),
            tuple(zip(low, high, strict=True)),
        )
    assert abs(rate - exact) < 5 * error
    again = random_system(3)
    assert again.about == system.about and np.array_equal(again.draws, system.draws)
