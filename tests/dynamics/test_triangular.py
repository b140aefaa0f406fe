"""`solve_lower` against the general solver, in value and in gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.dynamics import solve_lower

ROUNDING = 1e-10  # the condition number of the random matrices is below a thousand


@pytest.mark.parametrize("dimension", [1, 2, 3, 12])
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
