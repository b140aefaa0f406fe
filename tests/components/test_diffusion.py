"""sigma: triangular with positive diagonal, and its fast div M against the full Jacobian of M."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Constant, Triangular
from uidd.components.diffusion import positive_part, positive_part_inverse
from uidd.dynamics import matrix_divergence

ROUNDING = 1e-12
SPECIFICATIONS = [Triangular(widths=(8, 6)), Constant("full"), Constant("diagonal")]


def states(dimension, seed, count=4):
    return np.random.default_rng(seed).standard_normal((count, dimension))


def test_positive_part_is_accurate_and_positive_for_large_arguments_in_single_precision():
    """y = (sqrt(s^2 + 1) + s) / 2 tends to s above and to 1 / (4 |s|) below, where the sum cancels.

    Its relative condition number s y' / y = s / sqrt(s^2 + 1) is at most one, so that a few roundings of
    6e-8 are all that single precision may cost.
    """
    size = np.logspace(-3, 8, 300)
    s = np.concatenate([-size, [0], size]).astype(np.float32)
    exact = s.astype(np.float64)
    root = np.sqrt(exact**2 + 1)
    truth = np.where(exact >= 0, (root + exact) / 2, 0.5 / (root + np.abs(exact)))
    y = np.asarray(positive_part(jnp.asarray(s)))
    assert (y > 0).all()
    np.testing.assert_allclose(y, truth, rtol=5e-7)
    slope = np.asarray(jax.vmap(jax.grad(positive_part))(jnp.asarray(s)))
    np.testing.assert_allclose(slope, truth / root, rtol=2e-6)  # y' = y / sqrt(s^2 + 1)


def test_positive_part_and_its_inverse_undo_each_other(x64, quickly):
    y, s = np.logspace(-6, 6, 200), np.linspace(-50, 50, 201)
    there_and_back = quickly(lambda y: positive_part(positive_part_inverse(y)))(y)
    back_and_there = quickly(lambda s: positive_part_inverse(positive_part(s)))(s)
    np.testing.assert_allclose(there_and_back, y, rtol=ROUNDING)
    np.testing.assert_allclose(back_and_there, s, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    ("specification", "dimension"),
    [*((SPECIFICATIONS[0], D) for D in (1, 2, 3, 5)), (SPECIFICATIONS[1], 3), (SPECIFICATIONS[2], 3)],
    ids=str,
)
def test_div_M_equals_the_divergence_of_M_by_its_full_jacobian(
    specification, dimension, x64, fresh_seed, with_random_weights, quickly
):
    diffusion = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)

    def M(z):
        return diffusion(z) @ diffusion(z).T / 2

    def both(z):
        return *diffusion.with_divergence(z), diffusion(z), matrix_divergence(M, z)

    sigma, div_M, plain, automatic = quickly(jax.vmap(both))(states(dimension, fresh_seed))
    np.testing.assert_allclose(sigma, plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(div_M, automatic, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_sigma_is_lower_triangular_with_positive_diagonal_and_M_is_positive_definite(
    specification, dimension, fresh_seed, with_random_weights, quickly
):
    diffusion = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)
    z = 5 * states(dimension, fresh_seed, 50).astype(np.float32)
    sigma = np.asarray(quickly(jax.vmap(diffusion))(z), np.float64)
    assert (sigma[:, *np.triu_indices(dimension, 1)] == 0).all()
    assert (np.diagonal(sigma, axis1=1, axis2=2) > 0).all()
    assert (np.linalg.eigvalsh(sigma @ np.swapaxes(sigma, 1, 2) / 2) > 0).all()


@pytest.mark.parametrize("specification", [Triangular(widths=(8,)), Constant("full")], ids=str)
@pytest.mark.parametrize("dimension", [1, 3])
def test_sigma_starts_at_a_given_matrix(
    specification, dimension, x64, fresh_seed, with_random_weights, quickly
):
    diffusion = with_random_weights(lambda key: specification.build(dimension, key=key), fresh_seed)
    root = states(dimension, fresh_seed, dimension)
    sigma = np.linalg.cholesky(root @ root.T + 0.1 * np.eye(dimension))
    z = states(dimension, fresh_seed)
    started = quickly(lambda s: jax.vmap(diffusion.starting_at(s))(z))(sigma)
    np.testing.assert_allclose(started, np.broadcast_to(sigma, started.shape), rtol=ROUNDING, atol=ROUNDING)


def test_the_diagonal_form_keeps_the_diagonal_of_M(x64, with_random_weights):
    sigma = np.array([[1.0, 0.0], [0.7, 0.4]])
    diffusion = with_random_weights(lambda key: Constant("diagonal").build(2, key=key), 0)
    started = np.asarray(diffusion.starting_at(jnp.asarray(sigma))(jnp.zeros(2)))
    np.testing.assert_allclose(started, np.diag(np.sqrt(np.diag(sigma @ sigma.T))), rtol=ROUNDING)
