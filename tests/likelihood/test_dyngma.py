"""The mixture density: mass one, Euler at one step, the Euler chain's moments, and a bimodal truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from uidd import InputError
from uidd.components import Full, SumOfSquares, Triangular
from uidd.dynamics import ClosedFormDynamics
from uidd.likelihood import DynGMA, EulerMaruyama
from uidd.models import Architecture

SMALL = Architecture(SumOfSquares(components=4, widths=(8,)), Triangular((8,)), Full((8,)))
A, SIGMA = np.array([[-1.0, 0.7], [-0.9, -0.6]]), np.array([[0.8, 0.0], [0.3, 0.5]])


def double_well(noise):
    """dx = (x - x^3) dt + noise dB."""
    return ClosedFormDynamics(
        lambda z: (z[0] ** 4 / 4 - z[0] ** 2 / 2) * 2 / noise**2,
        lambda z: noise * jnp.ones((1, 1)) + 0 * z[0],
        lambda z: 0 * z[0] * jnp.ones((1, 1)),
    )


def swirl(order=(0, 1)):
    """A stirred double well whose noise depends on the state; its coordinates in `order`."""
    order = list(order)

    def potential(z):
        x, y = z[jnp.array(order)]
        return x**4 / 4 - x**2 / 2 + y**2 + x * y / 2

    def sigma(z):
        x, y = z[jnp.array(order)]
        return jnp.diag(jnp.stack([1 + jnp.tanh(y) / 2, 0.7 + 0 * x])[jnp.array(order)])

    sign = order[1] - order[0]
    return ClosedFormDynamics(
        potential, sigma, lambda z: sign * jnp.array([[0.0, 1.0], [-1.0, 0.0]]) + 0 * z[0]
    )


class Linear(eqx.Module):
    """dz = A z dt + sigma dB, with the one method that a likelihood calls."""

    A: jax.Array
    sigma: jax.Array

    noise_is_uniform = False

    def drift_and_diffusion(self, z):
        return self.A @ z, self.sigma


def linear():
    return Linear(jnp.asarray(A), jnp.asarray(SIGMA))


def densities(likelihood, dynamics, start, points, dt):
    at = jax.jit(jax.vmap(lambda z: likelihood.log_density(dynamics, start, z - start, dt)))
    return np.exp(np.asarray(at(jnp.asarray(points))))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_one_step_is_euler_maruyama(dimension, x64, fresh_seed, random_dynamics, quickly):
    dynamics = random_dynamics(SMALL, dimension, fresh_seed)
    z, increment, dt = *np.random.default_rng(fresh_seed).standard_normal((2, dimension)), 0.3

    def both(z, increment, dt):
        return [p.log_density(dynamics, z, increment, dt) for p in (DynGMA(steps=1), EulerMaruyama())]

    one, euler = quickly(both)(z, increment, dt)
    np.testing.assert_allclose(one, euler, rtol=1e-12)


@pytest.mark.parametrize("likelihood", [DynGMA(3), DynGMA(2, 3)])
def test_the_density_integrates_to_one_on_a_line(likelihood, x64):
    """The trapezoidal rule is exact to rounding for sums of Gaussians that it resolves."""
    grid = np.linspace(-8, 8, 1601)
    p = densities(likelihood, double_well(0.7), jnp.array([0.3]), grid[:, None], 1.0)
    np.testing.assert_allclose(p.sum() * (grid[1] - grid[0]), 1, atol=1e-12)


@pytest.mark.parametrize("likelihood", [DynGMA(3), DynGMA(2, 3)])
def test_the_density_integrates_to_one_in_a_plane(likelihood, x64):
    grid = np.linspace(-6, 6, 241)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    p = densities(likelihood, swirl(), jnp.array([0.2, -0.3]), points, 0.3)
    np.testing.assert_allclose(p.sum() * (grid[1] - grid[0]) ** 2, 1, atol=1e-12)


def moments(likelihood, dynamics, start, dt):
    weights, means, factors = (np.asarray(a) for a in likelihood.mixture(dynamics, start, dt))
    mean = weights @ means
    spread = np.einsum("k,ki,kj->ij", weights, means - mean, means - mean)
    return start + mean, spread + np.einsum("k,kil,kjl->ij", weights, factors, factors)


@pytest.mark.parametrize("likelihood", [DynGMA(3), DynGMA(2, 2), DynGMA(1, 4)])
def test_a_linear_process_has_the_moments_of_the_euler_chain(likelihood, x64):
    """m <- (1 + h A) m, P <- (1 + h A) P (1 + h A)^T + h sigma sigma^T: the points are exact to degree 2."""
    start, dt = np.array([1.0, -2.0]), 0.8
    h = dt / (likelihood.steps * likelihood.substeps)
    step, mean, covariance = np.eye(2) + h * A, start, np.zeros((2, 2))
    for _ in range(likelihood.steps * likelihood.substeps):
        mean, covariance = step @ mean, step @ covariance @ step.T + h * SIGMA @ SIGMA.T
    found = moments(likelihood, linear(), jnp.asarray(start), dt)
    np.testing.assert_allclose(found[0], mean, rtol=1e-12)
    np.testing.assert_allclose(found[1], covariance, rtol=1e-12)


def test_the_moments_of_a_linear_process_converge_with_the_first_order(x64):
    """Exact: e^(A dt) z and S - e^(A dt) S e^(A dt)^T, with A S + S A^T + sigma sigma^T = 0."""
    start, dt = np.array([1.0, -2.0]), 0.5
    flow = scipy.linalg.expm(A * dt)
    stationary = scipy.linalg.solve_continuous_lyapunov(A, -SIGMA @ SIGMA.T)
    exact = flow @ start, stationary - flow @ stationary @ flow.T
    errors = [
        [
            np.linalg.norm(found - true)
            for found, true in zip(
                moments(DynGMA(2, n), linear(), jnp.asarray(start), dt), exact, strict=True
            )
        ]
        for n in (2, 4, 8)
    ]
    slopes = np.polyfit(np.log([2, 4, 8]), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, -1, atol=0.2)


def test_a_double_well_is_nearer_than_euler_and_than_any_gaussian(x64):
    """Over dt = 1 the density leaves the barrier for both wells; truth: Chapman-Kolmogorov on a grid.

    In L1 the mixture is nearer with every step, nearer than Euler's and than the Gaussian with the true mean
    and variance from the first on, and at last twice as near as both.
    """
    noise, start, dt, parts = 0.7, 0.3, 1.0, 200
    grid = np.linspace(-4, 4, 801)
    dx, h = grid[1] - grid[0], dt / parts

    def gaussian(x, mean, variance):
        return np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    def euler(x):
        return gaussian(grid, x + h * (x - x**3), h * noise**2)

    kernel, truth = np.stack([euler(x) for x in grid], axis=1) * dx, euler(start)
    for _ in range(parts - 1):
        truth = kernel @ truth
    mean = truth @ grid * dx
    matched = gaussian(grid, mean, truth @ (grid - mean) ** 2 * dx)

    def distance(p):
        return np.abs(p - truth).sum() * dx

    def of(likelihood):
        return distance(densities(likelihood, double_well(noise), jnp.array([start]), grid[:, None], dt))

    one_gaussian = min(of(EulerMaruyama()), distance(matched))
    two, three, four = (of(DynGMA(steps, 2)) for steps in (2, 3, 4))
    assert four < three < two < one_gaussian
    assert four < one_gaussian / 2


def test_the_order_of_the_coordinates_does_not_matter(x64, fresh_seed, quickly):
    """For a diagonal sigma: the arms lie along the axes."""
    start, increment = np.random.default_rng(fresh_seed).standard_normal((2, 2)) / 2

    def at(dynamics, start, increment):
        return DynGMA(3).log_density(dynamics, start, increment, 0.1)

    def both(start, increment):
        return at(swirl(), start, increment), at(swirl((1, 0)), start[::-1], increment[::-1])

    plain, turned = quickly(both)(start, increment)
    np.testing.assert_allclose(plain, turned, rtol=1e-10)


@pytest.mark.parametrize("far", [0.0, 30.0])
def test_gradients_are_finite_near_and_far_from_every_component(far, quickly):
    """In single precision, at an increment of none and of hundreds of standard deviations."""

    def at(dynamics):
        start, increment = jnp.array([0.1, -0.2]), jnp.array([far, -far])
        return DynGMA(2, 2).log_density(dynamics, start, increment, jnp.asarray(0.01))

    for leaf in jax.tree.leaves(quickly(jax.grad(at))(linear())):
        assert np.isfinite(leaf).all() and np.any(leaf != 0)


@pytest.mark.parametrize("fields", [{"steps": 0}, {"substeps": 1.5}])
def test_a_number_of_steps_that_is_none_is_refused(fields):
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        DynGMA(**fields)
