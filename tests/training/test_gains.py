"""Held-out gains: against the noise they must not see, and bends that they must."""

import math

import numpy as np
import pytest

from uidd.training.gains import (
    LARGEST_CHANCE,
    Misfit,
    drift_gain,
    drift_misfit,
    folds_of,
    linear_residuals,
    noise_gain,
    noise_misfit,
)


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


def test_a_bend_that_few_regressions_can_fit_is_seen_in_the_sum_of_squares():
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


def sigma_of(z):
    """Noise that the model does not know of: four times as large at one end as at the other."""
    return np.exp(0.7 * np.tanh(z[:, :1]))


@pytest.mark.parametrize(("dimension", "sigma"), [(1, None), (2, None), (2, sigma_of), (6, None)])
def test_white_residuals_hold_no_drift(dimension, sigma):
    """Twenty draws: the chance is below 5 % in at most five (binomial, 3e-4)."""
    chances, hidden = [], []
    for seed in range(20):
        generator = np.random.default_rng([seed, dimension])
        z, xi = generator.standard_normal((2, 6000, dimension))
        found = drift_misfit(z, xi if sigma is None else sigma(z) * xi)
        chances.append(found.chance)
        hidden.append(found.hidden)
    assert np.sum(np.array(chances) < 0.05) <= 5 and min(chances) > 1e-4
    # At most half the root of their number if there is something, which is about as likely as not.
    size = (math.comb(dimension + 3, 3) - 1) * dimension
    assert 0.1 < np.mean(hidden) / size**0.5 < 0.6


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_white_residuals_hold_no_varying_noise(dimension):
    """As above. Squares of normal numbers are skewed: their sums must be normal all the same."""
    draws = (
        np.random.default_rng([seed, dimension, 1]).standard_normal((2, 6000, dimension))
        for seed in range(20)
    )
    chances = np.array([noise_misfit(*draw).chance for draw in draws])
    assert np.sum(chances < 0.05) <= 5 and chances.min() > 1e-4


def test_the_nats_of_a_varying_noise_are_measured():
    """log sigma^2 = a z: the log-density of all pairs gains n a^2 / 4 to leading order."""
    generator, n, a = np.random.default_rng(4), 40_000, 0.15
    z, xi = generator.standard_normal((2, n, 2))
    xi[:, 0] *= np.exp(a * z[:, 0] / 2)
    found = noise_misfit(z, xi)
    # Nine products of three squares each; a normal number of this size is itself known to its root.
    error = np.hypot((9 * 3 / 2) ** 0.5, (2 * n * a**2 / 4) ** 0.5)
    assert found.chance < 1e-12 and abs(found.nats - n * a**2 / 4) < 4 * error


def test_a_drift_that_is_spread_over_many_features_is_measured():
    """Products of three of six coordinates, all together 300 nats, none of them more than ten."""
    generator, n = np.random.default_rng(0), 40_000
    z, xi = generator.standard_normal((2, n, 6))
    triples = np.stack([z[:, i] * z[:, j] * z[:, k] for i in range(6) for j in range(i) for k in range(j)], 1)
    force = triples @ generator.standard_normal((triples.shape[1], 6))
    force *= np.sqrt(2 * 300 / np.sum(force**2))
    found = drift_misfit(z, xi + force)
    assert found.chance < 1e-12
    # 83 features of six residuals: the noise of the sum is the root of half of their number.
    assert abs(found.nats - 300) < 4 * np.hypot((83 * 6 / 2) ** 0.5, 600**0.5)
    assert abs(found.hidden / found.nats - 1) < 0.3


def test_too_few_pairs_and_no_noise_say_nothing():
    few, none = np.random.default_rng(0).standard_normal((10, 2)), np.zeros((6000, 2))
    assert drift_misfit(few, few) == Misfit(1.0, 0.0, 0.0)
    still = drift_misfit(np.random.default_rng(0).standard_normal((6000, 2)), none)
    assert still.chance == 1.0 and still.nats == 0.0 and np.isfinite(still.hidden)


def in_wells(strength, seed, count=30_000):
    """Three wells ten widths apart, and residuals that in each pull its own way, <xi> = s K_k (z - c_k)."""
    generator = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [10.0, 3.0], [2.0, 11.0]])
    turns = np.array([[[0, 1], [-1, 0]], [[0, -1], [1, 0]], [[1, 0], [0, -1]]])
    which, own = generator.integers(3, size=count), generator.standard_normal((count, 2))
    pull = strength * np.einsum("nij,nj->ni", turns[which], own)
    return centers[which] + own, pull + generator.standard_normal((count, 2)), np.sum(pull**2) / 2


def test_what_is_so_in_one_well_and_in_no_other_is_seen():
    """|pull|^2 / 2 are its nats; the noise of sums of 2 p squares is the root of p = 288, and a mean of cells
    holds most of a pull."""
    states, xi, nats = in_wells(0.08, 0)
    found = drift_misfit(states, xi)
    assert found.chance < 1e-6
    assert nats / 2 < found.nats < nats + 4 * 288**0.5


def test_white_residuals_in_wells_hold_nothing():
    assert min(drift_misfit(*in_wells(0.0, seed)[:2]).chance for seed in range(5)) > 2e-3
