"""The Euler-Maruyama density against SciPy's Gaussian, and what it does not compute."""

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from uidd.components import Full, SumOfSquares, Triangular
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture

SMALL = Architecture(SumOfSquares(components=4, widths=(8,)), Triangular((8,)), Full((8,)))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_density_is_the_gaussian_of_one_euler_step(dimension, x64, fresh_seed, random_dynamics, quickly):
    """N(dt f, dt sigma sigma^T) at the increment."""
    dynamics = random_dynamics(SMALL, dimension, fresh_seed)
    generator = np.random.default_rng(fresh_seed)
    z, increment = generator.standard_normal((5, dimension)), 0.3 * generator.standard_normal((5, dimension))
    dt = generator.uniform(0.01, 1, 5)

    def at(z, increment, dt):
        return EulerMaruyama().log_density(dynamics, z, increment, dt), *dynamics.drift_and_diffusion(z)

    log_density, drift, sigma = (np.asarray(a) for a in quickly(jax.vmap(at))(z, increment, dt))
    for k in range(5):
        gaussian = scipy.stats.multivariate_normal(dt[k] * drift[k], dt[k] * sigma[k] @ sigma[k].T)
        np.testing.assert_allclose(log_density[k], gaussian.logpdf(increment[k]), rtol=1e-10, atol=1e-10)


def primitives(jaxpr):
    """The names of all primitives, those inside other primitives too."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jax.tree.leaves(
            list(equation.params.values()),
            is_leaf=lambda p: isinstance(p, (jax.extend.core.ClosedJaxpr, jax.extend.core.Jaxpr)),
        ):
            if isinstance(inner, jax.extend.core.ClosedJaxpr):
                yield from primitives(inner.jaxpr)
            elif isinstance(inner, jax.extend.core.Jaxpr):
                yield from primitives(inner)


def test_neither_density_nor_gradient_factorises_or_inverts_a_matrix(random_dynamics):
    """sigma is triangular already; a batched factorisation would run one small matrix after the other."""
    dynamics = random_dynamics(SMALL, 3, 0)

    def loss(dynamics, z, increment, dt):
        density = jax.vmap(lambda *pair: EulerMaruyama().log_density(dynamics, *pair))
        return -jnp.mean(density(z, increment, dt))

    z, dt = jnp.zeros((4, 3)), jnp.ones(4)
    found = set(primitives(jax.make_jaxpr(jax.value_and_grad(loss))(dynamics, z, z, dt).jaxpr))
    assert {"dot_general", "tanh", "custom_linear_solve"} & found  # the search does look inside
    assert not found & {"cholesky", "lu", "lu_solve", "triangular_solve", "qr", "eigh", "svd", "inv"}


def test_the_search_for_factorisations_would_find_one():
    """A control for the test above."""

    def hidden(A):
        return jax.vmap(lambda a: jax.jit(jnp.linalg.solve)(a, jnp.ones(2)))(A)

    assert "lu" in set(primitives(jax.make_jaxpr(hidden)(jnp.ones((3, 2, 2))).jaxpr))
