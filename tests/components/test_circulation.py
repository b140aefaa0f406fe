"""W: exactly antisymmetric, with the paper's sign, and its fast divergence against the full Jacobian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Absent, Full, NoCirculation, Tridiagonal
from uidd.dynamics import matrix_divergence

ROUNDING = 1e-12
SPECIFICATIONS = [Tridiagonal(widths=(8, 6)), Full(widths=(8, 6)), Absent()]


def states(dimension, seed, count=4):
    return np.random.default_rng(seed).standard_normal((count, dimension))


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("specification", SPECIFICATIONS[:2], ids=str)
def test_div_W_equals_the_divergence_by_the_full_jacobian(
    specification, dimension, x64, fresh_seed, with_random_weights, quickly
):
    circulation = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)

    def both(z):
        return *circulation.with_divergence(z), circulation(z), matrix_divergence(circulation, z)

    W, div_W, plain, automatic = quickly(jax.vmap(both))(states(dimension, fresh_seed))
    np.testing.assert_allclose(W, plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(div_W, automatic, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("dimension", [2, 5])
@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_W_is_antisymmetric_to_the_last_bit(
    specification, dimension, fresh_seed, with_random_weights, quickly
):
    circulation = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)
    W = np.asarray(quickly(jax.vmap(circulation))(states(dimension, fresh_seed, 20).astype(np.float32)))
    np.testing.assert_array_equal(W, -np.swapaxes(W, 1, 2))


def test_the_tridiagonal_form_has_the_sign_of_the_paper(x64, fresh_seed, with_random_weights):
    """W_{d,d+1} = H_d = -W_{d+1,d}, and nothing outside the two off-diagonals."""
    circulation = with_random_weights(lambda key: Tridiagonal(widths=(8,)).build(4, key=key), fresh_seed)
    z = jnp.asarray(states(4, fresh_seed)[0])
    W, H = np.asarray(circulation(z)), np.asarray(circulation.network(z))
    np.testing.assert_allclose(W, np.diag(H, 1) - np.diag(H, -1), rtol=ROUNDING)


def test_the_full_form_has_one_field_for_every_pair(x64, fresh_seed, with_random_weights):
    circulation = with_random_weights(lambda key: Full(widths=(8,)).build(4, key=key), fresh_seed)
    z = jnp.asarray(states(4, fresh_seed)[0])
    W, H = np.asarray(circulation(z)), np.asarray(circulation.network(z))
    np.testing.assert_allclose(W[np.triu_indices(4, 1)], H, rtol=ROUNDING)


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_there_is_no_circulation_in_one_dimension(specification):
    circulation = specification.build(1, key=jax.random.key(0))
    assert isinstance(circulation, NoCirculation)
    W, div_W = circulation.with_divergence(jnp.ones(1))
    assert W.shape == (1, 1) and div_W.shape == (1,)
    assert not W.any() and not div_W.any()


@pytest.mark.parametrize("specification", [Tridiagonal(widths=(8,)), Full(widths=(8,))], ids=str)
def test_W_starts_at_a_given_matrix_as_far_as_its_form_allows(
    specification, x64, fresh_seed, with_random_weights, quickly
):
    root = states(3, fresh_seed, 3)
    wanted = root - root.T
    circulation = with_random_weights(lambda key: specification.build(3, key=key), fresh_seed)
    started = circulation.starting_at(jnp.asarray(wanted))
    if isinstance(specification, Tridiagonal):
        wanted[0, 2] = wanted[2, 0] = 0
    W, div_W = quickly(jax.vmap(started.with_divergence))(states(3, fresh_seed))
    np.testing.assert_allclose(W, np.broadcast_to(wanted, W.shape), rtol=ROUNDING, atol=ROUNDING)
    assert not div_W.any()
