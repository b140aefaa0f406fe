"""V: bounded below by a quadratic, and able to start at any quadratic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import ACTIVATIONS, SumOfSquares


def states(dimension, seed, count=5):
    return np.random.default_rng(seed).standard_normal((count, dimension))


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_V_is_at_least_b3_times_the_squared_distance_so_that_the_density_is_integrable(
    activation, fresh_seed, with_random_weights, quickly
):
    specification = SumOfSquares(components=4, widths=(8,), activation=activation, b3=0.01)
    potential = with_random_weights(lambda key: specification.build(3, key=key), fresh_seed)
    z = (states(3, fresh_seed, 200) * np.logspace(-2, 4, 200)[:, None]).astype(np.float32)
    V = np.asarray(quickly(jax.vmap(potential))(z), np.float64)
    bound = 0.01 * (z.astype(np.float64) ** 2).sum(axis=1)
    assert (bound * (1 - 1e-6) <= V).all()  # a few roundings of single precision


def test_V_is_the_formula_of_the_paper(x64, fresh_seed, with_random_weights):
    """V = b1/2 sum_i (U_i + b2 sum_j g_ij z_j)^2 + b3 |z|^2, written out in loops."""
    specification = SumOfSquares(components=4, widths=(8,), b1=0.7, b2=1.3, b3=0.02)
    potential = with_random_weights(lambda key: specification.build(2, key=key), fresh_seed)
    for z in states(2, fresh_seed):
        U, g = np.asarray(potential.network(jnp.asarray(z))), np.asarray(potential.slopes)
        V = 0.02 * (z[0] ** 2 + z[1] ** 2)
        for i in range(4):
            V += 0.7 / 2 * (U[i] + 1.3 * (g[i, 0] * z[0] + g[i, 1] * z[1])) ** 2
        np.testing.assert_allclose(potential(jnp.asarray(z)), V, rtol=1e-12)


@pytest.mark.parametrize(("dimension", "activation"), [(1, "tanh"), (2, "recu"), (5, "tanh")])
def test_V_starts_at_a_given_quadratic(dimension, activation, x64, fresh_seed, with_random_weights, quickly):
    """grad V = S (z - mean), and V itself up to a constant."""
    specification = SumOfSquares(components=6, widths=(8,), activation=activation, b1=0.7, b2=1.3, b3=0.02)
    potential = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)
    root, mean = states(dimension, fresh_seed, dimension), states(dimension, fresh_seed + 1, 1)[0]
    stiffness = root @ root.T + 0.5 * np.eye(dimension)
    z, key = states(dimension, fresh_seed), jax.random.key(fresh_seed)

    def start(stiffness, mean):
        return jax.vmap(jax.value_and_grad(potential.starting_at(stiffness, mean, key=key)))(z)

    V, gradient = quickly(start)(stiffness, mean)
    truth = np.einsum("ni,ij,nj->n", z - mean, stiffness, z - mean) / 2
    np.testing.assert_allclose(gradient, (z - mean) @ stiffness, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(V - V[0], truth - truth[0], rtol=1e-9, atol=1e-9)


def test_every_component_of_V_can_learn_from_its_start(x64, with_random_weights, quickly):
    """V depends on the square of a component: one that starts at zero would stay there."""
    specification = SumOfSquares(components=8, widths=(8,))
    potential = with_random_weights(lambda key: specification.build(2, key=key), 0)
    started = quickly(potential.starting_at)(jnp.eye(2), jnp.zeros(2), key=jax.random.key(0))
    gradient = quickly(jax.grad(lambda p: p(jnp.array([0.3, -0.8]))))(started)
    assert (np.abs(gradient.slopes).max(axis=1) > 0).all()
