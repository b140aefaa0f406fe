"""Wells: their formula against mixtures of Gaussians, their gradient, and that they stay bounded."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from uidd.components import Mixture, Quadratic
from uidd.components.mixture import BACKGROUND


def gaussians(dimension, seed, count=3):
    """Weights, centers and covariances, all narrower than one."""
    generator = np.random.default_rng(seed)
    roots = generator.uniform(-0.9, 0.9, (count, dimension, dimension)) / dimension
    covariances = roots @ roots.transpose(0, 2, 1) + 0.05 * np.eye(dimension)
    return generator.dirichlet(np.ones(count)), generator.standard_normal((count, dimension)), covariances


def potential(dimension, seed, share=1.0, offsets=0.0):
    """V with those wells over a base of unit stiffness, and the wells."""
    wells = gaussians(dimension, seed)
    start = Quadratic().build(dimension, key=jax.random.key(0))
    mean = jnp.full(dimension, 0.2)
    start = start.starting_at(jnp.eye(dimension), mean, key=jax.random.key(0)).with_wells(*wells)
    place = lambda p: (p.nonlinear.mixture.share, p.nonlinear.mixture.offsets)  # noqa: E731
    return eqx.tree_at(place, start, (jnp.full(1, share), jnp.zeros(8) + offsets)), wells


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_with_a_share_of_one_V_is_minus_the_logarithm_of_the_mixture(dimension, x64, fresh_seed):
    """Of the Gaussians and a little of the base."""
    V, wells = potential(dimension, fresh_seed)
    z = np.random.default_rng(fresh_seed).standard_normal((40, dimension))
    density = BACKGROUND * scipy.stats.multivariate_normal(np.full(dimension, 0.2)).pdf(z)
    for w, c, C in zip(*wells, strict=True):
        density = density + w * scipy.stats.multivariate_normal(c, C).pdf(z)
    apart = np.asarray(jax.vmap(V)(jnp.asarray(z))) + np.log(density)
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_gradient_is_that_of_the_value(dimension, x64, fresh_seed):
    offsets = jnp.asarray(np.random.default_rng(fresh_seed).standard_normal(8))
    V, _ = potential(dimension, fresh_seed, -0.7, offsets)
    z = jnp.asarray(np.random.default_rng(fresh_seed).standard_normal((40, dimension)))
    np.testing.assert_allclose(jax.vmap(V.gradient)(z), jax.vmap(jax.grad(V))(z), rtol=1e-8, atol=1e-10)


def test_an_offset_raises_its_own_well_and_no_other(x64):
    """Two narrow wells ten widths apart, one of them raised by 2 kT."""
    mixture = Mixture.absent(1, 8).of(
        np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.full((2, 1, 1), 0.01)
    )
    raised = eqx.tree_at(lambda m: m.offsets, mixture, jnp.zeros(8).at[1].set(2.0))
    for place, height in ((-1.0, 0.0), (1.0, 2.0)):
        z = jnp.array([place])
        # Up to the background's share of the density.
        np.testing.assert_allclose(raised(z, 0.0) - mixture(z, 0.0), height, atol=1e-3)


@pytest.mark.parametrize("share", [-20.0, 20.0])
def test_wells_are_bounded_even_if_the_states_are_wider_than_the_base(share, x64, fresh_seed):
    """Gaussians wider than the base would grow against it without bound: they are made narrower."""
    weights, centers, covariances = gaussians(3, fresh_seed)
    start = Quadratic().build(3, key=jax.random.key(0))
    start = start.starting_at(4 * jnp.eye(3), jnp.zeros(3), key=jax.random.key(0))
    wide = start.with_wells(weights, centers, 30 * covariances)
    V = eqx.tree_at(lambda p: p.nonlinear.mixture.share, wide, jnp.full(1, share))
    u = np.random.default_rng(fresh_seed).standard_normal((30, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    far = [np.asarray(jax.vmap(V)(jnp.asarray(t * u))) - 2 * t**2 for t in (1e3, 1e4)]
    # All that is left is the background.
    np.testing.assert_allclose(far[0], -share * np.log(BACKGROUND), rtol=1e-6)
    np.testing.assert_allclose(far[1], far[0], rtol=1e-6)
