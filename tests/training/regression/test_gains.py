"""Held-out gains: against the noise they must not see, and bends that they must."""

import math

import numpy as np
import pytest

from uidd.training.regression.gains import LARGEST_CHANCE, drift_gain, folds_of, linear_residuals, noise_gain


def recorded(drift, *, sigma=lambda z: 1.0, dimension=2, paths=60, frames=200, dt=0.05, seed=0):
    """Euler paths: their mean increments are the drift's own, so a linear one is linear in the recording."""
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((paths, dimension))
    states = [z]
    for _ in range(frames):
        z = z + dt * drift(z) + dt**0.5 * sigma(z) * generator.standard_normal(z.shape)
        states.append(z)
    path = np.stack(states, axis=1)
    start, increment = path[:, :-1].reshape(-1, dimension), np.diff(path, axis=1).reshape(-1, dimension)
    fold = folds_of(np.repeat(np.arange(paths), frames))
    return start, increment, np.full(len(start), dt), fold


def turning(z):
    """A linear drift that turns three times as fast as it falls."""
    return -z + 3 * np.stack([-z[:, 1], z[:, 0]], axis=1) if z.shape[1] == 2 else -z


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_linear_drifts_and_constant_noise_call_for_nothing(dimension):
    """A gain of g nats in one fold has a chance of e^-g, times the regressions tried; 20 nats, beyond which a
    bend must be found, are far out for the sum over folds, too (11 is the largest that was seen)."""
    for seed in range(6):
        start, increment, dt, fold = recorded(turning, dimension=dimension, paths=30, frames=100, seed=seed)
        assert drift_gain(start, increment, dt, fold).nats < 20
        assert noise_gain(start, linear_residuals(start, increment, dt), fold).nats < 20


def test_a_drift_that_turns_fast_and_bends_is_found():
    """The ring of a noisy oscillator: V or W alone cannot improve the linear model, the drift does."""

    def oscillator(z):
        r2 = np.sum(z**2, axis=1, keepdims=True)
        return z * (1 - r2) + 2 * np.stack([-z[:, 1], z[:, 0]], axis=1)

    gain = drift_gain(*recorded(oscillator, sigma=lambda z: 0.45))
    assert gain.called_for and gain.nats > 50 and gain.features == "products"


@pytest.mark.slow
def test_a_bend_that_few_regressions_can_fit_is_foretold():
    """A force of 90 nats whose sign is that of a fine chequerboard: regressions, sixteen of which are tried,
    call for a network in 3 of these 10 cases, and with the sum of squares it is 6."""
    called, by_gain, n, dt = 0, 0, 12_000, 0.01
    for seed in range(10):
        z, xi = np.random.default_rng(seed).standard_normal((2, n, 2))
        force = np.prod(np.sign(np.sin(5 * z)), axis=1, keepdims=True) * np.sqrt(90 / n)
        gain = drift_gain(z, dt**0.5 * (force + xi), np.full(n, dt), folds_of(np.arange(n) // 100))
        called, by_gain = called + gain.called_for, by_gain + (16 * math.exp(-gain.nats) < LARGEST_CHANCE)
    assert called >= 4 and by_gain < called


def test_noise_that_varies_is_found_where_the_drift_is_linear():
    start, increment, dt, fold = recorded(turning, sigma=lambda z: 1 + 0.4 * np.tanh(z[:, :1]))
    assert not drift_gain(start, increment, dt, fold).nats > 20
    assert noise_gain(start, linear_residuals(start, increment, dt), fold).chance < LARGEST_CHANCE


def test_uneven_frames_of_a_linear_system_call_for_nothing():
    """The exact mean (e^(-dt) - 1) z is not linear in dt."""
    generator = np.random.default_rng(1)
    start, dt = generator.standard_normal((6000, 1)), generator.choice([0.1, 1.0], 6000)
    decay = np.exp(-dt)[:, None]
    increment = (decay - 1) * start + np.sqrt(1 - decay**2) * generator.standard_normal(start.shape)
    assert drift_gain(start, increment, dt, folds_of(np.arange(6000) // 100)).nats < 10


def test_blocks_are_not_torn_apart():
    block = np.repeat(np.arange(40), 7)
    fold = folds_of(block)
    assert set(fold) == set(range(8))
    assert all(len(set(fold[block == b])) == 1 for b in range(40))
