"""Stochastic force inference on a stirred trap, dx = (-x + e z^ x x) dt + dB. Needs the extra `peers`.

The trap has the stationary density N(0, 1/2) and the current velocity e z^ x x, so its entropy production is
<v . v> / D = 2 e^2. Paths are drawn from the exact transition density: e^(A dt) is a rotation that shrinks.
"""

import numpy as np
import pytest

from uidd import Trajectories
from uidd.experiments.peers import sfi, sfi_force

STRENGTH, DT = 1.0, 0.02


@pytest.fixture(scope="module")
def stirred():
    """Paths of different lengths, the first with missing frames, in units far from one."""
    generator = np.random.default_rng(0)
    angle, shrink = STRENGTH * DT, np.exp(-DT)
    turn = shrink * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    states = np.empty((2000, 20, 2))
    states[0] = generator.standard_normal((20, 2)) * 0.5**0.5
    for i in range(1, len(states)):
        noise = generator.standard_normal((20, 2)) * ((1 - shrink**2) / 2) ** 0.5
        states[i] = states[i - 1] @ turn.T + noise
    paths = [states[: 2000 - 40 * k, k] * [1e3, 1e-2] + [5e3, 0] for k in range(20)]
    times = [DT * np.arange(len(path)) for path in paths]
    paths[0], times[0] = np.delete(paths[0], [7, 8], axis=0), np.delete(times[0], [7, 8])
    return Trajectories.from_arrays(paths, times=times)


@pytest.mark.slow
def test_the_rate_of_a_stirred_trap_is_within_five_of_its_errors(stirred):
    estimate = sfi(stirred)
    assert estimate.result == "ok", estimate.result
    assert abs(estimate.rate - 2 * STRENGTH**2) < 5 * estimate.standard_error
    assert 0 < estimate.standard_error < 0.2


@pytest.mark.slow
def test_the_force_is_that_of_the_trap(stirred):
    """Coefficients have errors of about sqrt(2 D / (T <x^2>)) = .05 for T = 650."""
    z = np.array([[5e3, 0.0], [6e3, 0.0], [5e3, 1e-2], [4e3, -5e-3]])
    x = (z - [5e3, 0]) / [1e3, 1e-2]
    truth = (-x + STRENGTH * np.stack([-x[:, 1], x[:, 0]], axis=1)) * [1e3, 1e-2]
    np.testing.assert_allclose((sfi_force(stirred)(z) - truth) / [1e3, 1e-2], 0, atol=5 * 0.05 * 2**0.5)


def test_frames_off_one_time_step_fail_in_words():
    generator = np.random.default_rng(0)
    data = Trajectories.from_arrays([generator.standard_normal((30, 2))], times=[np.arange(30) ** 1.5])
    estimate = sfi(data)
    assert np.isnan(estimate.rate) and estimate.result == "failed"
    assert "one time step" in estimate.result.message
