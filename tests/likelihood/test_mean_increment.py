"""The density of the mean increment: its flow, its Gaussian, its minimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from uidd.dynamics import AbstractDrift
from uidd.likelihood import MeanIncrement
from uidd.likelihood.mean_increment import flow


class LinearDrift(AbstractDrift):
    """z' = A z."""

    A: jax.Array

    def drift(self, z):
        return self.A @ z


class CubicDrift(AbstractDrift):
    """z' = -z^3, solved by z / sqrt(1 + 2 z^2 t)."""

    def drift(self, z):
        return -(z**3)


def slope(dt, error):
    return np.polyfit(np.log(dt), np.log(error), 1)[0]


def runge_kutta_matrix(A, dt):
    """What the four stages make of a linear drift: the series of e^(A dt) - 1 up to the fourth power."""
    powers = [np.linalg.matrix_power(A * dt, k) for k in range(5)]
    return powers[1] + powers[2] / 2 + powers[3] / 6 + powers[4] / 24


def test_the_flow_of_a_linear_drift_is_the_matrix_exponential_up_to_the_fifth_power_of_dt(x64):
    generator = np.random.default_rng(0)
    A, z = generator.standard_normal((3, 3)), generator.standard_normal(3)
    dt = 0.2 * 0.5 ** np.arange(5)
    error = [
        np.abs(flow(LinearDrift(jnp.asarray(A)), jnp.asarray(z), t) - scipy.linalg.expm(A * t) @ z + z).max()
        for t in dt
    ]
    assert abs(slope(dt, error) - 5) < 0.2


def test_the_flow_of_a_cubic_drift_is_its_solution_up_to_the_fifth_power_of_dt(x64):
    """Here all conditions on the four stages count, not those of linear drifts alone."""
    z, dt = jnp.array([0.5, 1.0, -1.5]), 0.1 * 0.5 ** np.arange(5)
    error = [np.abs(flow(CubicDrift(), z, t) - z / jnp.sqrt(1 + 2 * z**2 * t) + z).max() for t in dt]
    assert abs(slope(dt, error) - 5) < 0.2


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_the_density_is_the_gaussian_around_the_flow(dimension, x64, fresh_seed, quickly):
    """N(F, dt sigma sigma^T) at the increment, F from powers of A."""
    generator = np.random.default_rng(fresh_seed)
    A = generator.standard_normal((dimension, dimension))
    sigma = np.tril(generator.standard_normal((dimension, dimension)), -1)
    sigma += np.diag(generator.uniform(0.5, 2, dimension))
    z, increment = generator.standard_normal((5, dimension)), 0.3 * generator.standard_normal((5, dimension))
    dt = generator.uniform(0.01, 1, 5)
    likelihood, dynamics = MeanIncrement(jnp.asarray(sigma)), LinearDrift(jnp.asarray(A))
    log_density = quickly(jax.vmap(lambda *pair: likelihood.log_density(dynamics, *pair)))(z, increment, dt)
    for k in range(5):
        mean = runge_kutta_matrix(A, dt[k]) @ z[k]
        gaussian = scipy.stats.multivariate_normal(mean, dt[k] * sigma @ sigma.T)
        np.testing.assert_allclose(log_density[k], gaussian.logpdf(increment[k]), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("noise", [np.eye(2), np.array([[0.3, 0.0], [-1.0, 2.0]])], ids=["unit", "skew"])
def test_among_linear_drifts_the_minimum_is_the_regression_of_the_increments(noise, x64, quickly):
    """Increments regressed on all coordinates: the metric of the noise drops out of the normal equations.

    The minimum over A is found by Newton's iteration, the regression by NumPy: the flow of the first is the
    second, sum_k (A dt)^k / k! = B.
    """
    generator, dt = np.random.default_rng(0), 0.3
    z = generator.standard_normal((200, 2))
    increment = z @ np.array([[-0.5, -0.4], [0.4, -0.3]]).T + 0.2 * generator.standard_normal((200, 2))
    B = np.linalg.lstsq(z, increment, rcond=None)[0].T

    def loss(entries):
        dynamics = LinearDrift(entries.reshape(2, 2))
        density = jax.vmap(lambda a, b: MeanIncrement(jnp.asarray(noise)).log_density(dynamics, a, b, dt))
        return -jnp.mean(density(z, increment))

    newton = quickly(lambda entries: (jax.grad(loss)(entries), jax.hessian(loss)(entries)))
    entries = B.ravel() / dt
    for _ in range(12):
        gradient, hessian = newton(entries)
        entries = entries - np.linalg.solve(hessian, gradient)
    assert np.linalg.eigvalsh(newton(entries)[1]).min() > 0
    # Normal equations of 200 pairs and a Hessian of condition below 100: some thousand roundings.
    np.testing.assert_allclose(runge_kutta_matrix(entries.reshape(2, 2), dt), B, rtol=1e-11, atol=1e-12)
    assert np.abs(entries.reshape(2, 2) * dt - B).max() > 0.01  # Euler's step would be another minimum
