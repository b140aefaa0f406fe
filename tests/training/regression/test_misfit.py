"""What residuals still hold: against white ones, which hold nothing, and drifts of known nats."""

import math

import numpy as np
import pytest
import scipy.stats

from uidd.training.regression.features import features
from uidd.training.regression.misfit import Misfit, drift_misfit, noise_misfit


def sigma_of(z):
    """Noise that the model does not know of: four times as large at one end as at the other."""
    return np.exp(0.7 * np.tanh(z[:, :1]))


@pytest.mark.slow
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
    # At most half the root of their number if there is something, which is about as likely as not; twice
    # that where the noise of a few pairs is that of all.
    size = (math.comb(dimension + 3, 3) - 1) * dimension
    assert 0.1 < np.mean(hidden) / size**0.5 < (0.6 if sigma is None else 1.2)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_white_residuals_hold_no_varying_noise(dimension):
    """As above. Squares of normal numbers are skewed: their sums must be normal all the same."""
    draws = (
        np.random.default_rng([seed, dimension, 1]).standard_normal((2, 6000, dimension))
        for seed in range(20)
    )
    chances = np.array([noise_misfit(*draw).chance for draw in draws])
    assert np.sum(chances < 0.05) <= 5 and chances.min() > 1e-4


@pytest.mark.slow
def test_the_nats_of_a_varying_noise_are_measured():
    """log sigma^2 = a z: the log-density of all pairs gains n a^2 / 4 to leading order."""
    generator, n, a = np.random.default_rng(4), 40_000, 0.15
    z, xi = generator.standard_normal((2, n, 2))
    xi[:, 0] *= np.exp(a * z[:, 0] / 2)
    found = noise_misfit(z, xi)
    # Nine products of three squares each; a normal number of this size is itself known to its root.
    error = np.hypot((9 * 3 / 2) ** 0.5, (2 * n * a**2 / 4) ** 0.5)
    assert found.chance < 1e-12 and abs(found.nats - n * a**2 / 4) < 4 * error


@pytest.mark.slow
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


@pytest.mark.slow
def test_white_residuals_in_wells_hold_nothing():
    assert min(drift_misfit(*in_wells(0.0, seed)[:2]).chance for seed in range(5)) > 2e-3


def few_places(seed, dimension=6, paths=20, frames=100, dt=0.01):
    """Starts and residuals of a falling bowl: stationary paths as long as their relaxation time."""
    generator = np.random.default_rng(seed)
    z, states, noise = generator.standard_normal((paths, dimension)), [], []
    for _ in range(frames):
        xi = generator.standard_normal(z.shape)
        states.append(z)
        noise.append(xi)
        z = (1 - dt) * z + (1 - (1 - dt) ** 2) ** 0.5 * xi
    return tuple(np.stack(each, axis=1).reshape(-1, dimension) for each in (states, noise))


def test_paths_that_hardly_move_hold_nothing():
    """They know 20 places, a quarter as many as features, and where they go depends on the noise: squares of
    sums over features that later places have as_euler_steps are too large by far, and tell of nothing."""
    found, plain = [], []
    for seed in range(10):
        states, xi = few_places(seed)
        found.append(drift_misfit(states, xi).chance)
        X = next(each.values for each in features(states) if each.name == "products")
        Q = np.linalg.qr(X - X.mean(axis=0))[0]
        plain.append(scipy.stats.chi2.sf(np.sum((Q.T @ xi) ** 2), Q.shape[1] * xi.shape[1]))
    assert np.median(plain) < 1e-4
    # Ten draws: below 5 % in at most three (binomial, 1e-3).
    assert np.sum(np.array(found) < 0.05) <= 3 and min(found) > 1e-3
