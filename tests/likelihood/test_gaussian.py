"""What Gaussian densities share, against quadrature and against each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.dynamics import AbstractEquation
from uidd.likelihood import Cubature, EulerMaruyama, choose_steps
from uidd.likelihood.cubature import carried


class Bent(AbstractEquation):
    """A drift and a noise that vary, with six parameters."""

    theta: jax.Array

    def drift_and_diffusion(self, z):
        a, b, c, d, e, f = self.theta
        drift = jnp.stack([-a * z[0] + b * jnp.sin(z[1]), -c * z[1] - z[0] * z[1]])
        sigma = jnp.array([[1.0, 0.0], [0.0, 1.0]]) * jnp.exp(d * z[0]) + jnp.array([[e, 0.0], [f, 0.0]])
        return drift, sigma

    def diffusion(self, z):
        return self.drift_and_diffusion(z)[1]


THETA, START, DT = np.array([1.0, 0.7, 0.8, 0.2, 0.1, -0.3]), np.array([0.6, -0.4]), 0.1


@pytest.mark.parametrize("likelihood", [EulerMaruyama(), Cubature(1, 4), Cubature(2, 2)])
def test_the_rows_give_the_information(likelihood, x64):
    """J^T J = E[g g^T]. The score g is quadratic in the noise, so five Gauss-Hermite nodes are exact."""
    theta, start = jnp.asarray(THETA), jnp.asarray(START)
    shift, root = likelihood.moments(Bent(theta), start, DT)
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    weights = weights / weights.sum()
    expected = np.zeros((6, 6))
    for x, p in zip(nodes, weights, strict=True):
        for y, q in zip(nodes, weights, strict=True):
            increment = shift + root @ jnp.array([x, y])
            g = jax.grad(lambda t, i=increment: likelihood.log_density(Bent(t), start, i, DT))(theta)
            expected += p * q * np.outer(g, g)
    J = jax.jacobian(lambda t: likelihood.deviations(Bent(t), start, DT, root))(theta)
    assert J.shape == (5, 6)
    np.testing.assert_allclose(J.T @ J, expected, rtol=1e-9, atol=1e-12)


def test_euler_is_straight_already(x64):
    dynamics, start, noise = Bent(jnp.asarray(THETA)), jnp.asarray(START), jnp.array([0.7, -1.2])
    shift, L = EulerMaruyama().moments(dynamics, start, DT)
    found = EulerMaruyama().as_euler_steps(dynamics, start, shift + L @ noise, DT)
    np.testing.assert_allclose(found.start, start)
    np.testing.assert_allclose(found.increment, shift + L @ noise, rtol=1e-12)
    np.testing.assert_allclose(found.noise, noise, rtol=1e-12)


def test_a_straight_pair_keeps_the_size_of_the_noise(x64):
    """Under the model it is a step of Euler's scheme from where it starts, with noise that is white."""
    dynamics, start, noise = Bent(jnp.asarray(THETA)), jnp.asarray(START), jnp.array([0.7, -1.2])
    shift, L = Cubature(2, 4).moments(dynamics, start, DT)
    found = Cubature(2, 4).as_euler_steps(dynamics, start, shift + L @ noise, DT)
    drift, sigma = dynamics.drift_and_diffusion(found.start)
    white = np.linalg.solve(sigma, (found.increment - drift * DT) / np.sqrt(DT))
    assert np.linalg.norm(white) == pytest.approx(np.linalg.norm(noise), rel=1e-12)


def test_a_straight_pair_tells_of_the_drift_what_the_recorded_one_does(x64):
    """The score of the mean, odd in the noise: Euler's is that of the exact Gaussian up to dt squared."""
    A, B = jnp.array([[-1.0, 2.0], [-0.5, -3.0]]), jnp.array([[0.7, 0.0], [0.3, 1.1]])
    start, noise, exact = jnp.asarray(START), jnp.array([0.7, -1.2]), Cubature(4, 4)

    def scores(dt, noise):
        shift, L = exact.moments(Straight(A, B), start, dt)
        _, _, begun, increment = exact.as_euler_steps(Straight(A, B), start, shift + L @ noise, dt)
        recorded = jax.grad(lambda A: exact.log_density(Straight(A, B), start, shift + L @ noise, dt))(A)
        straight = jax.grad(lambda A: EulerMaruyama().log_density(Straight(A, B), begun, increment, dt))(A)
        return np.array([recorded, straight])

    def off(dt):
        recorded, straight = (scores(dt, noise) - scores(dt, -noise)) / 2
        return np.abs(straight - recorded).max() / np.abs(recorded).max()

    assert off(0.1) < 0.02
    assert off(0.05) < off(0.1) / 3.5


class Straight(AbstractEquation):
    """dz = A z dt + B dB: the moment equations are m' = A m, P' = A P + P A^T + B B^T."""

    A: jax.Array
    B: jax.Array

    noise_is_uniform = True

    def drift_and_diffusion(self, z):
        return self.A @ z, self.B

    def diffusion(self, z):
        return self.B


@pytest.mark.parametrize("scheme", [Cubature(1, 2), Cubature(1, 4), Cubature(2, 4)])
def test_the_contraction_half_way_is_that_of_the_drift(scheme, x64):
    """A linear drift has the same Jacobian everywhere. P = sigma sigma^T dt/2 half way, to leading order."""
    A, B = jnp.array([[-1.0, 2.0], [-0.5, -3.0]]), jnp.array([[0.7, 0.0], [0.3, 1.1]])
    dt = 1e-3
    half = carried(Straight(A, B), jnp.asarray(START), dt, scheme.steps, scheme.order)[2]
    np.testing.assert_allclose(half.slopes @ np.linalg.inv(half.root), A, rtol=1e-9)
    np.testing.assert_allclose(half.root @ half.root.T, B @ B.T * dt / 2, rtol=5e-3)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("order", [2, 4])
def test_the_stages_are_those_of_the_scheme_written_out(order, steps, x64):
    A, B = np.array([[-1.0, 2.0], [-0.5, -3.0]]), np.array([[0.7, 0.0], [0.3, 1.1]])
    m, P, h = START, np.zeros((2, 2)), 0.1 / steps

    def rates(m, P):
        return A @ m, A @ P + P @ A.T + B @ B.T

    def ahead(share, k):
        return rates(m + share * h * k[0], P + share * h * k[1])

    for _ in range(steps):
        a = rates(m, P)
        b = ahead(0.5, a)
        slopes = [(1.0, b)]
        if order == 4:
            c = ahead(0.5, b)
            slopes = [(1 / 6, a), (1 / 3, b), (1 / 3, c), (1 / 6, ahead(1.0, c))]
        m = m + h * sum(weight * k[0] for weight, k in slopes)
        P = P + h * sum(weight * k[1] for weight, k in slopes)
    dynamics, start = Straight(jnp.asarray(A), jnp.asarray(B)), jnp.asarray(START)
    as_argument = eqx.filter_jit(carried)(dynamics, start, 0.1, jnp.asarray(steps), order)
    for shift, L in (Cubature(steps, order).moments(dynamics, start, 0.1), as_argument[:2]):
        np.testing.assert_allclose(shift, m - START, rtol=1e-12)
        np.testing.assert_allclose(L @ L.T, P, rtol=1e-12)


class Steep(eqx.Module):
    """dz = -z dt + dB, and wildly steep beyond 5."""

    noise_is_uniform = False

    def drift_and_diffusion(self, z):
        return -z * (1 + 1e3 * (jnp.abs(z) > 5)), jnp.eye(1)


def test_a_few_wild_states_do_not_choose_the_scheme_where_they_do_not_count(x64):
    starts = np.random.default_rng(0).standard_normal((200, 1))
    dt = np.full(200, 0.05)
    tame = choose_steps(Steep(), starts, dt, 10_000)
    starts[[0, 100]] = 6.0
    assert choose_steps(Steep(), starts, dt, 10_000, counted=0.98).likelihood == tame.likelihood
    everything = choose_steps(Steep(), starts, dt, 10_000)
    assert everything.likelihood.steps > tame.likelihood.steps
