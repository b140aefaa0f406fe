"""The linear model in closed form: exact where the data are, within their noise where they are not."""

import numpy as np
import pytest
import scipy.linalg

from uidd.data import Transitions
from uidd.systems import Linear
from uidd.systems.linear import CIRCULATION, DISSIPATION, STIFFNESS
from uidd.training import fit_linear


def drift_matrix(linear):
    return -(linear.diffusion @ linear.diffusion.T / 2 + linear.circulation) @ linear.stiffness


def test_data_whose_regression_is_exact_give_back_A_M_and_W():
    """Noise orthogonal to the regressors, with 2 M as its exact covariance: only rounding is left.

    The 1e-6 that keeps M positive definite for any data is the tolerance.
    """
    generator, dt, count = np.random.default_rng(0), 0.01, 500
    mean = np.array([0.4, -0.7])
    start = mean + generator.standard_normal((count, 2)) * [0.2, 0.4]
    noise = generator.standard_normal((count, 2))
    design = np.column_stack([start, np.ones(count)])
    noise -= design @ np.linalg.lstsq(design, noise, rcond=None)[0]
    wanted, found = np.linalg.cholesky(2 * DISSIPATION), np.linalg.cholesky(noise.T @ noise / (count - 3))
    noise = noise @ np.linalg.inv(found).T @ wanted.T
    increment = (start - mean) @ Linear().drift_matrix.T * dt + noise * dt**0.5
    linear = fit_linear(Transitions(start, increment, np.full(count, dt)), euler=True)
    assert linear.result.successful
    np.testing.assert_allclose(linear.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(linear.diffusion @ linear.diffusion.T / 2, DISSIPATION, rtol=1e-5)
    np.testing.assert_allclose(linear.circulation, CIRCULATION, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(linear.stiffness, STIFFNESS, rtol=1e-4)


def test_simulated_data_give_A_and_M_within_their_standard_errors():
    """Var A_ij = 2 M_ii (sum dt x x^T)^-1_jj and Var M_ij = (M_ii M_jj + M_ij^2) / n, from least squares."""
    pairs = Linear().simulate(200, 51, seed=1).transitions()
    linear = fit_linear(pairs, euler=True)
    M = linear.diffusion @ linear.diffusion.T / 2
    information = np.linalg.inv((pairs.start * pairs.dt[:, None]).T @ pairs.start)
    error_A = np.sqrt(2 * np.outer(np.diag(M), np.diag(information)))
    assert (np.abs(drift_matrix(linear) - Linear().drift_matrix) < 5 * error_A).all()
    error_M = np.sqrt((np.outer(np.diag(M), np.diag(M)) + M**2) / len(pairs.dt))
    assert (np.abs(M - DISSIPATION) < 5 * error_M).all()


def test_steps_of_different_lengths_are_weighted_rightly():
    """The same process seen at dt = 0.01 and 0.002, together: M must not depend on the step."""
    parts = [Linear().simulate(100, 51, dt, seed=2).transitions() for dt in (0.01, 0.002)]
    linear = fit_linear(Transitions(*(np.concatenate(part) for part in zip(*parts, strict=True))))
    M = linear.diffusion @ linear.diffusion.T / 2
    error = np.sqrt((np.outer(np.diag(M), np.diag(M)) + M**2) / 10_000)
    assert (np.abs(M - DISSIPATION) < 5 * error).all()


@pytest.mark.parametrize("dimension", [1, 3])
def test_unstable_data_fall_back_to_detailed_balance_and_say_so(dimension):
    """dx = +x dt + dB has no stationary density; the data's own covariance takes its place."""
    generator, dt = np.random.default_rng(3), 0.1
    start = generator.standard_normal((400, dimension))
    increment = start * dt + generator.standard_normal((400, dimension)) * dt**0.5
    linear = fit_linear(Transitions(start, increment, np.full(400, dt)))
    assert linear.result.code == "reversible_start" and "not stable" in linear.result.message
    assert not linear.circulation.any()
    covariance = np.cov(start.T).reshape(dimension, dimension)
    np.testing.assert_allclose(linear.stiffness @ covariance, np.eye(dimension), atol=1e-6)


def test_the_euler_fit_of_exactly_sampled_data_loses_four_percent():
    """With endless data the regression finds (e^(A dt) - 1) / dt and (C - e^(A dt) C e^(A dt)^T) / (2 dt).

    The rate of that linear system at dt = 0.01 is what the documentation says of the Euler likelihood.
    """
    A, C, dt = Linear().drift_matrix, np.linalg.inv(STIFFNESS), 0.01
    step = scipy.linalg.expm(A * dt)
    A_euler, M = (step - np.eye(2)) / dt, (C - step @ C @ step.T) / (2 * dt)
    covariance = scipy.linalg.solve_continuous_lyapunov(A_euler, -2 * M)
    f = A_euler + M @ np.linalg.inv(covariance)
    rate = np.trace(f.T @ np.linalg.solve(M, f) @ covariance)
    np.testing.assert_allclose(rate / Linear().entropy_production_rate, 0.957, atol=0.002)
