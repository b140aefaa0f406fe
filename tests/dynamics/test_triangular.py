"""`solve_lower`, `solve_positive` and `cholesky` against the general routines, in value and in gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.dynamics import cholesky, solve_lower, solve_positive

ROUNDING = 1e-10  # the condition number of the random matrices is below a thousand


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 12])
def test_solve_lower_equals_the_general_solver_in_value_and_gradient(dimension, x64, fresh_seed, quickly):
    """The gradients count for the lower triangle only: what is above it does not enter."""
    generator = np.random.default_rng(fresh_seed)
    L = np.tril(generator.standard_normal((4, dimension, dimension)), -1) / dimension**0.5
    L += np.eye(dimension) * generator.uniform(0.5, 2, (4, 1, dimension))
    b = generator.standard_normal((4, dimension))

    def with_gradients(solve):
        def loss(L, b):
            return jnp.sum(jnp.sin(solve(jnp.tril(L), b)))

        return quickly(jax.vmap(lambda L, b: (solve(L, b), jax.grad(loss, (0, 1))(L, b))))(L, b)

    x, gradients = with_gradients(solve_lower)
    np.testing.assert_allclose(x, np.linalg.solve(L, b[..., None])[..., 0], rtol=ROUNDING, atol=ROUNDING)
    _, expected = with_gradients(jnp.linalg.solve)
    for gradient, truth in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, truth, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("dimension", [3, 8])
def test_solve_lower_takes_a_matrix_as_it_takes_its_columns(dimension, x64, fresh_seed, quickly):
    generator = np.random.default_rng(fresh_seed)
    L = np.tril(generator.standard_normal((dimension, dimension)), -1) + 2 * np.eye(dimension)
    right = generator.standard_normal((dimension, 5))
    np.testing.assert_allclose(quickly(solve_lower)(L, right), np.linalg.solve(L, right), rtol=ROUNDING)


@pytest.mark.parametrize("dimension", [1, 3, 12])
def test_solve_positive_equals_the_general_solver(dimension, x64, fresh_seed, quickly):
    generator = np.random.default_rng(fresh_seed)
    root = generator.standard_normal((dimension, dimension)) / dimension**0.5
    P, right = root @ root.T + np.eye(dimension), generator.standard_normal((dimension, 3))
    np.testing.assert_allclose(quickly(solve_positive)(P, right), np.linalg.solve(P, right), rtol=ROUNDING)
    b = right[:, 0]
    np.testing.assert_allclose(quickly(solve_positive)(P, b), np.linalg.solve(P, b), rtol=ROUNDING)


@pytest.mark.parametrize("dimension", [1, 3, 5, 12, 20])
def test_cholesky_equals_numpys_and_its_gradient_the_finite_difference(dimension, x64, fresh_seed, quickly):
    """Central differences of 1e-5: their error is 1e-10 times a third derivative, and 1e-11 of rounding."""
    generator = np.random.default_rng(fresh_seed)
    root, change, weights = generator.standard_normal((3, dimension, dimension)) / dimension**0.5
    P, dP = root @ root.T + np.eye(dimension), change + change.T
    np.testing.assert_allclose(quickly(cholesky)(P), np.linalg.cholesky(P), rtol=ROUNDING, atol=ROUNDING)
    gradient = quickly(jax.grad(lambda P: jnp.sum(weights * cholesky(P))))(P)
    h = 1e-5
    there, back = (np.sum(weights * np.linalg.cholesky(P + s * h * dP)) for s in (1, -1))
    np.testing.assert_allclose(np.sum(gradient * dP), (there - back) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("dimension", [2, 5, 12, 20])
def test_cholesky_of_a_singular_matrix_is_finite_and_near(dimension, rank, fresh_seed, quickly):
    """In single precision, where rounding makes such matrices indefinite; 16 D roundings are allowed.

    Every coordinate has its own unit, up to 1e6: the error is to be small in each of them.
    """
    generator = np.random.default_rng(fresh_seed)
    root = generator.standard_normal((20, dimension, rank)) * np.logspace(-3, 3, dimension)[:, None]
    P = (root @ np.swapaxes(root, 1, 2)).astype(np.float32)
    both = jax.vmap(lambda P: (cholesky(P), jax.grad(lambda P: jnp.sum(cholesky(P)))(P)))
    L, gradient = (np.asarray(part, np.float64) for part in quickly(both)(P))
    assert np.isfinite(L).all() and np.isfinite(gradient).all()
    unit = np.sqrt(np.einsum("nii->ni", P)) + 1e-12
    error = (L @ np.swapaxes(L, 1, 2) - P) / unit[:, :, None] / unit[:, None]
    assert np.abs(error).max() < 16 * dimension * np.finfo(np.float32).eps
