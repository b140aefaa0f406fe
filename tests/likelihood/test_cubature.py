"""The Gaussian carried by cubature points: closed forms, orders, a Monte Carlo, and what it costs."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from uidd import InputError
from uidd.likelihood import Cubature, EulerMaruyama
from uidd.models import Architecture

A, SIGMA = np.array([[-1.0, 0.7], [-0.9, -0.6]]), np.array([[0.8, 0.0], [0.3, 0.5]])
SCHEMES = [Cubature(1, 2), Cubature(1, 4), Cubature(3, 2), Cubature(2, 4)]


class Given(eqx.Module):
    """dz = f(z) dt + sigma(z) dB, with the one method that a likelihood calls."""

    f: Callable = eqx.field(static=True)
    sigma: Callable = eqx.field(static=True)

    noise_is_uniform = False

    def drift_and_diffusion(self, z):
        return self.f(z), self.sigma(z)


class Linear(eqx.Module):
    A: jax.Array
    sigma: jax.Array

    noise_is_uniform = False

    def drift_and_diffusion(self, z):
        return self.A @ z, self.sigma


def moments(likelihood, dynamics, start, dt):
    """Mean and covariance; one program for all intervals of one scheme."""
    shift, L = likelihood.moments(dynamics, jnp.asarray(start), dt)
    return np.asarray(start + shift), np.asarray(L @ L.T)


@pytest.mark.parametrize("order", [2, 4])
def test_a_linear_process_converges_with_the_order_of_the_scheme(order, x64):
    """Exact: e^(A dt) z and S - e^(A dt) S e^(A dt)^T, with A S + S A^T + sigma sigma^T = 0."""
    start, dt, steps = np.array([1.0, -2.0]), 0.4, np.array([2, 4, 8])
    flow = scipy.linalg.expm(A * dt)
    S = scipy.linalg.solve_continuous_lyapunov(A, -SIGMA @ SIGMA.T)
    exact = flow @ start, S - flow @ S @ flow.T
    linear, errors = Linear(jnp.asarray(A), jnp.asarray(SIGMA)), []
    for n in steps:
        found = moments(Cubature(int(n), order), linear, start, dt)
        errors.append([np.linalg.norm(x - y) for x, y in zip(found, exact, strict=True)])
    np.testing.assert_allclose(np.polyfit(np.log(steps), np.log(errors), 1)[0], -order, atol=0.2)
    assert max(errors[-1]) < {2: 1e-3, 4: 1e-6}[order]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dimension", [2, 6])
def test_a_noise_known_to_be_uniform_gives_the_same_moments_as_one_looked_at_everywhere(
    scheme, dimension, x64, random_dynamics, quickly
):
    uniform = random_dynamics(Architecture().plain, dimension, 0)
    assert uniform.noise_is_uniform and not random_dynamics(Architecture(), dimension, 0).noise_is_uniform
    given = Given(lambda z: uniform.drift(z), lambda z: uniform.diffusion(z))
    z = jnp.linspace(-0.5, 0.5, dimension)
    for found, wanted in zip(
        *(quickly(lambda z, d=d: scheme.moments(d, z, 0.1))(z) for d in (uniform, given)), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_no_factorisation_of_the_library_is_called_in_any_dimension(random_dynamics):
    """Two of them in one program, mapped over a batch, can wait for each other forever."""
    for dimension in (3, 5, 13):
        dynamics = random_dynamics(Architecture().plain, dimension, 0)
        z, dt = jnp.zeros((4, dimension)), jnp.ones(4)

        def loss(dynamics, z, increment, dt):
            return jnp.mean(jax.vmap(lambda *pair: Cubature().log_density(dynamics, *pair))(z, increment, dt))

        def straight(dynamics, z, increment, dt):
            return jax.vmap(lambda *pair: Cubature().as_euler_steps(dynamics, *pair))(z, increment, dt)

        for function in (loss, jax.grad(loss), straight):
            text = str(jax.make_jaxpr(function)(dynamics, z, z, dt))
            assert "custom_linear_solve" in text
            assert not any(f"{name}[" in text for name in ("cholesky", "triangular_solve", "lu"))


@pytest.mark.parametrize("order", [2, 4])
def test_a_curved_drift_moves_the_mean_by_its_ito_term(order, x64):
    """f = -x^2: E = x + f dt + (f f' + M f'') dt^2 / 2 + O(dt^3), Var = 2 M dt + 2 f' M dt^2 + O(dt^3)."""
    x, s, dts = 0.8, 0.7, np.array([0.01, 0.005, 0.0025])
    f, slope, bend, M = -(x**2), -2 * x, -2.0, s**2 / 2
    dynamics, errors = Given(lambda z: -(z**2), lambda z: s * jnp.ones((1, 1))), []
    for dt in dts:
        mean, variance = moments(Cubature(1, order), dynamics, np.array([x]), dt)
        expected = x + f * dt + (f * slope + M * bend) * dt**2 / 2, 2 * M * dt + 2 * slope * M * dt**2
        errors.append([abs(mean[0] - expected[0]), abs(variance[0, 0] - expected[1])])
    np.testing.assert_allclose(np.polyfit(np.log(dts), np.log(errors), 1)[0], 3, atol=0.2)


@pytest.mark.parametrize("order", [2, 4])
def test_geometric_brownian_motion_has_the_moments_of_the_log_normal(order, x64):
    """dx = b y dt + s y dB with y = 1 + a x: E y = y0 e^(a b dt), E y^2 = y0^2 e^((2 a b + a^2 s^2) dt)."""
    x, a, b, s, dts = 0.4, 0.9, -0.6, 0.8, np.array([0.2, 0.1, 0.05])
    dynamics = Given(lambda z: b * (1 + a * z), lambda z: s * (1 + a * z)[None])
    y, errors = 1 + a * x, []
    for dt in dts:
        mean, variance = moments(Cubature(1, order), dynamics, np.array([x]), dt)
        growth = np.exp(a * b * dt)
        truth = (y * growth - 1) / a, y**2 * growth**2 * (np.exp(a**2 * s**2 * dt) - 1) / a**2
        errors.append([abs(mean[0] - truth[0]), abs(variance[0, 0] - truth[1])])
    np.testing.assert_allclose(np.polyfit(np.log(dts), np.log(errors), 1)[0], order + 1, atol=0.25)


def stirred():
    """A stirred double well whose noise depends on the state."""

    def f(z):
        x, y = z
        pull = jnp.stack([4 * (x**3 - x), 2 * y + x])
        return -pull + 2 * jnp.stack([pull[1], -pull[0]])

    def sigma(z):
        return jnp.array([[0.6, 0.0], [0.2, 0.5]]) * (1 + 0.3 * jnp.tanh(z[1]))

    return Given(f, sigma)


def test_a_stirred_double_well_has_the_moments_of_a_fine_simulation(x64):
    """50 Euler steps in dt = .05: their bias in mean and variance is about one standard error.

    The control: the Euler-Maruyama Gaussian of one step fails the same test by far.
    """
    dynamics, start, dt, parts, paths = stirred(), jnp.array([0.6, -0.4]), 0.05, 50, 40_000

    def step(z, key):
        f, sigma = jax.vmap(dynamics.drift_and_diffusion)(z)
        noise = jax.random.normal(key, z.shape) * (dt / parts) ** 0.5
        return z + f * dt / parts + jnp.einsum("nij,nj->ni", sigma, noise), None

    keys = jax.random.split(jax.random.key(1), parts)
    z = np.asarray(jax.jit(lambda z: jax.lax.scan(step, z, keys)[0])(jnp.tile(start, (paths, 1))))
    apart = z - z.mean(axis=0)
    products = np.einsum("ni,nj->nij", apart, apart)
    f, sigma = dynamics.drift_and_diffusion(start)

    def deviations(mean, covariance):
        in_mean = (z.mean(axis=0) - mean) / (z.std(axis=0) / paths**0.5)
        in_covariance = (products.mean(axis=0) - covariance) / (products.std(axis=0) / paths**0.5)
        return max(np.abs(in_mean).max(), np.abs(in_covariance).max())

    assert deviations(*moments(Cubature(1, 4), dynamics, np.asarray(start), dt)) < 5
    assert deviations(start + f * dt, sigma @ sigma.T * dt) > 20


@pytest.mark.parametrize("likelihood", SCHEMES, ids=str)
def test_the_density_integrates_to_one(likelihood, x64):
    """The trapezoidal rule is exact to rounding for a Gaussian that it resolves."""
    grid, start = np.linspace(-4, 4, 161), jnp.array([0.2, -0.3])
    points = jnp.asarray(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2))
    log_density = jax.jit(jax.vmap(lambda d: likelihood.log_density(stirred(), start, d, 0.1)))(points)
    np.testing.assert_allclose(np.exp(log_density).sum() * (grid[1] - grid[0]) ** 2, 1, atol=1e-12)


def test_the_order_of_the_coordinates_does_not_matter(x64, fresh_seed, quickly):
    """Exactly so for a quadratic drift and an affine sigma: no average is of a higher than third degree."""
    generator, order = np.random.default_rng(fresh_seed), np.array([2, 0, 1])
    a, b, s = generator.standard_normal((3, 3, 3)) / 3
    start, increment = generator.standard_normal((2, 3)) / 3

    def f(z):
        return a @ z + 0.3 * (b @ z) ** 2

    def sigma(z):
        return jnp.eye(3) + 0.3 * s * (1 + z)

    back = np.argsort(order)
    turned = Given(lambda y: f(y[back])[order], lambda y: sigma(y[back])[order])

    def both(start, increment):
        here = Cubature(2, 4).log_density(Given(f, sigma), start, increment, 0.2)
        return here, Cubature(2, 4).log_density(turned, start[order], increment[order], 0.2)

    np.testing.assert_allclose(*quickly(both)(start, increment), rtol=1e-10)


@pytest.mark.parametrize("likelihood", SCHEMES, ids=str)
def test_gradients_are_finite_and_those_of_euler_as_the_interval_vanishes(likelihood, quickly):
    """In single precision at dt = 1e-6, where P is all but zero and the density that of one Euler step."""
    dt = jnp.asarray(1e-6)

    def gradient(scheme):
        def at(dynamics):
            return scheme.log_density(dynamics, jnp.array([2.0, -3.0]), jnp.array([1e-3, -2e-3]), dt)

        return quickly(jax.grad(at))(Linear(jnp.asarray(A), jnp.asarray(SIGMA)))

    found, euler = gradient(likelihood), gradient(EulerMaruyama())
    for value, truth in zip(jax.tree.leaves(found), jax.tree.leaves(euler), strict=True):
        assert np.isfinite(value).all()
        # The next order in the gradient for A is sqrt(dt) = 1e-3 smaller. Euler's density does not see the
        # upper triangle of sigma.
        near = np.tril(np.abs(value - truth)) < 1e-2 * np.abs(truth).max()
        assert near.all()


@pytest.mark.parametrize("likelihood", SCHEMES, ids=str)
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_drift_is_evaluated_as_often_as_said(likelihood, dimension):
    calls = []

    def f(z):
        jax.debug.callback(lambda z: calls.append(z), z)
        return -z

    jax.block_until_ready(
        likelihood.moments(Given(f, lambda z: jnp.eye(dimension)), jnp.ones(dimension), jnp.asarray(0.1))
    )
    jax.effects_barrier()
    assert len(calls) == likelihood.evaluations(dimension)


@pytest.mark.parametrize("likelihood", [Cubature(), EulerMaruyama()])
def test_draws_have_the_moments_of_the_density(likelihood, x64):
    """Within 5 standard errors of 20,000 draws: sqrt(P_ii / n), and sqrt((P_ii P_jj + P_ij^2) / n)."""
    start, dt, count = jnp.array([0.6, -0.4]), 0.1, 20_000
    keys = jax.random.split(jax.random.key(3), count)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: likelihood.draw(stirred(), start, dt, key=k)))(keys))
    f, sigma = stirred().drift_and_diffusion(start)
    mean, P = np.asarray(f * dt), np.asarray(sigma @ sigma.T * dt)
    if isinstance(likelihood, Cubature):
        mean, P = moments(likelihood, stirred(), np.asarray(start), dt)
        mean = mean - np.asarray(start)
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * np.sqrt(np.diag(P) / count)).all()
    error = np.sqrt((np.outer(np.diag(P), np.diag(P)) + P**2) / count)
    assert (np.abs(np.cov(drawn.T) - P) < 5 * error).all()


@pytest.mark.parametrize(
    ("fields", "words"), [({"steps": 0}, "whole number"), ({"order": 3}, "2 or 4; got 3")]
)
def test_a_scheme_that_is_none_is_refused(fields, words):
    with pytest.raises(InputError, match=words):
        Cubature(**fields)
