"""The network's Jacobian, pushed forward by hand, against automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import ACTIVATIONS, Network

ROUNDING = 1e-12


def states(dimension, seed, count=4):
    return np.random.default_rng(seed).standard_normal((count, dimension))


def check_jacobian(network, z, quickly):
    """J[j, a] = d value_a / d z_j, the transpose of JAX's convention."""

    def both(z):
        value, jacobian = network.with_jacobian(z)
        return value, network(z), jacobian, jax.jacfwd(network)(z).T

    value, plain, jacobian, automatic = quickly(jax.vmap(both))(z)
    np.testing.assert_allclose(value, plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(jacobian, automatic, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_the_jacobian_equals_jacfwd_for_every_activation(name, x64, fresh_seed, with_random_weights, quickly):
    network = with_random_weights(lambda key: Network.random(3, 4, (7, 5), name, key=key), fresh_seed)
    check_jacobian(network, states(3, fresh_seed), quickly)


@pytest.mark.parametrize("widths", [(), (6,), (6, 5)])
@pytest.mark.parametrize("dimension", [1, 2, 3, 12])
def test_the_jacobian_equals_jacfwd_in_every_dimension_and_depth(
    dimension, widths, x64, fresh_seed, with_random_weights, quickly
):
    network = with_random_weights(
        lambda key: Network.random(dimension, 3, widths, "tanh", key=key), fresh_seed
    )
    check_jacobian(network, states(dimension, fresh_seed), quickly)


def test_a_network_starts_at_the_given_constant_and_can_leave_it(
    x64, fresh_seed, with_random_weights, quickly
):
    network = with_random_weights(lambda key: Network.random(3, 2, (8, 8), "tanh", key=key), fresh_seed)
    values = np.array([0.7, -1.3])
    z = states(3, fresh_seed)
    started = quickly(network.starting_at)(values)
    np.testing.assert_array_equal(quickly(jax.vmap(started))(z), np.broadcast_to(values, (len(z), 2)))
    # Hidden layers that were zero too could not learn: the gradient for the last matrix must not vanish.
    gradient = quickly(jax.grad(lambda n: n(z[0]).sum()))(started)
    assert np.abs(gradient.readout[0]).min() > 0


@pytest.mark.parametrize("widths", [(), (5,), (5, 4), (5, 4, 3)])
def test_contracted_and_hidden_jacobians_equal_those_by_automatic_differentiation(widths, x64):
    """q_i = sum_ja weights_ija J_ja, and J = (Jacobian of the last hidden layer) R, at every depth."""
    network = Network.random(3, 2, widths, "tanh", key=jax.random.key(0))
    z, weights = jnp.array([0.3, -0.2, 0.5]), np.random.default_rng(0).standard_normal((4, 3, 2))
    jacobian = jax.jacfwd(network)(z).T
    value, contracted = network.with_derivatives(z, weights)
    np.testing.assert_allclose(value, network(z), rtol=1e-12)
    np.testing.assert_allclose(contracted, np.einsum("nja,ja->n", weights, jacobian), rtol=1e-6, atol=1e-8)
    _, hidden = network.with_hidden_jacobian(z)
    np.testing.assert_allclose(hidden @ network.readout[0], jacobian, rtol=1e-6, atol=1e-8)


def test_derivatives_of_outputs_along_directions_of_their_own_equal_those_of_the_jacobian(x64):
    """d_a value_a = sum_j J_ja direction_ja, for several sets of directions at once."""
    network = Network.random(3, 4, (6,), "tanh", key=jax.random.key(0))
    z, directions = jnp.array([0.3, -0.2, 0.5]), np.random.default_rng(0).standard_normal((2, 3, 4))
    value, found = network.with_own_derivatives(z, *directions)
    np.testing.assert_allclose(value, network(z), rtol=1e-12)
    jacobian = jax.jacfwd(network)(z).T
    for each, along in zip(found, directions, strict=True):
        np.testing.assert_allclose(each, np.sum(jacobian * along, axis=0), rtol=1e-10)
