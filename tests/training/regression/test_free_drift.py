"""The drift without structure against linear systems, whose flow and noise are known at any dt."""

import numpy as np
import pytest
import scipy.linalg

from uidd.data import Transitions
from uidd.training.regression.free_drift import FreeDrift
from uidd.training.regression.gains import folds_of, noise_gain

A = np.array([[-1.0, 0.8], [-0.5, -0.7]])
M = np.array([[0.5, 0.1], [0.1, 0.3]])


def pairs(dt, count=16_000, seed=0):
    """Exact transitions of dz = A z dt + sqrt(2 M) dB from stationary starts."""
    generator = np.random.default_rng(seed)
    C = scipy.linalg.solve_continuous_lyapunov(A, -2 * M)
    step = scipy.linalg.expm(A * dt)
    start = generator.standard_normal((count, 2)) @ np.linalg.cholesky(C).T
    noise = generator.standard_normal((count, 2)) @ np.linalg.cholesky(C - step @ C @ step.T).T
    return Transitions(start, start @ (step - np.eye(2)).T + noise, np.full(count, dt))


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.02, 0.5])
def test_the_flow_of_the_free_drift_is_the_mean_next_state(dt):
    """Its linear part is A to 4 standard errors of a regression; Euler's is off by a fifth at dt = .5."""
    data = pairs(dt)
    straight = FreeDrift.of(data).as_euler_steps(data)
    found = np.linalg.lstsq(data.start, straight.increment / dt, rcond=None)[0].T
    C = scipy.linalg.solve_continuous_lyapunov(A, -2 * M)
    error = 4 * (2 * M.max() * np.linalg.inv(C).max() / (dt * len(data.dt))) ** 0.5
    np.testing.assert_allclose(found, A, atol=error)
    euler = (scipy.linalg.expm(A * dt) - np.eye(2)) / dt
    assert dt < 0.1 or np.abs(euler - A).max() > 2 * error


@pytest.mark.slow
@pytest.mark.parametrize(("dt", "rule"), [(0.02, 0.0), (0.5, 0.01)])
def test_the_noise_is_that_of_the_process_and_not_of_the_interval(dt, rule):
    """Simpson's rule costs (A dt)^4 / 45, here less than 1 %; Q / (2 dt) would be a third too small."""
    free = FreeDrift.of(pairs(dt))
    error = 4 * (2 / 16_000) ** 0.5 + rule
    np.testing.assert_allclose(np.diag(free.dissipation), np.diag(M), rtol=error)


def test_slips_of_the_instrument_hardly_change_the_noise():
    """One frame in a hundred off by a hundred standard deviations would make M a hundred times larger.

    What is left is the loss of those frames, and 4 standard errors of a variance.
    """
    clean = pairs(0.1)
    slipped = clean.increment.copy()
    slipped[::100] += 50.0
    found = FreeDrift.of(Transitions(clean.start, slipped, clean.dt)).dissipation
    np.testing.assert_allclose(np.diag(found), np.diag(M), rtol=4 * (2 / 16_000) ** 0.5 + 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 12, 32])
def test_every_dimension_has_room(dimension):
    generator = np.random.default_rng(0)
    start = generator.standard_normal((3000, dimension))
    noise = generator.standard_normal((3000, dimension)) * 0.1**0.5
    free = FreeDrift.of(Transitions(start, -0.05 * start + noise, np.full(3000, 0.05)))
    assert free.coefficients.size <= 1300 and np.isfinite(free.dissipation).all()
    np.testing.assert_allclose(np.diag(free.dissipation), 1.0, rtol=0.25)


def double_well(seed, paths=40, frames=500, dt=0.1, fine=20, D=0.25):
    """dx = (x - x^3) dt + sqrt(2 D) dB in frames that are far apart, of unit size, with the path of each."""
    generator = np.random.default_rng(seed)
    x = generator.choice([-1.0, 1.0], paths)
    states = [x]
    for _ in range(frames):
        for _ in range(fine):
            x = x + (x - x**3) * dt / fine + generator.standard_normal(paths) * (2 * D * dt / fine) ** 0.5
        states.append(x)
    path = np.stack(states, axis=1)
    path = path / path.std()
    start, increment = path[:, :-1].reshape(-1, 1), np.diff(path, axis=1).reshape(-1, 1)
    return Transitions(start, increment, np.full(len(start), dt)), np.repeat(np.arange(paths), frames)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_constant_noise_that_a_bent_flow_carries_does_not_pass_for_varying(seed):
    """The slope of a drift of 192 units is mostly noise if they have no prior, and so is the noise that it
    carries: chances were then 1e-4 to 5e-9. With one they were .04 to 1 over 20 seeds."""
    data, path = double_well(seed)
    chosen, xi = FreeDrift.of(data).fitted(data)
    assert not noise_gain(data.start[chosen], xi, folds_of(path[chosen])).called_for
