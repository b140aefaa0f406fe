"""A drift that is too weak where it is strong: against exact residuals, and those that a prior leaves."""

import numpy as np
import pytest

from uidd.training.checks.own_drift import FEWEST, edges, own_drift_misfit
from uidd.training.regression.misfit import drift_misfit
from uidd.training.regression.optimism import Optimism


def draw(seed, n=20_000, dimension=6):
    """States, a push that is cubic in them, and white residuals."""
    generator = np.random.default_rng([seed, dimension, 5])
    z, xi = generator.standard_normal((2, n, dimension))
    return z, 0.06 * (z - z**3 / 3), xi


def test_residuals_of_the_exact_drift_hold_nothing():
    """Twenty draws: the chance is below 5 % in at most five (binomial, 3e-4)."""
    found = [own_drift_misfit(push, xi) for _, push, xi in map(draw, range(20))]
    chances = np.array([each.chance for each in found])
    assert np.sum(chances < 0.05) <= 5 and chances.min() > 1e-4


def test_a_drift_that_is_too_weak_where_it_is_strong_is_found_where_features_drown_it():
    """By a fifth in the strongest eighth, and too strong by so much elsewhere that the sum is right."""
    z, push, xi = draw(3, 40_000)
    size = np.sum(push**2, axis=1)
    strong = size > np.quantile(size, 0.875)
    factor = np.where(strong, 0.2, -0.2 * size[strong].sum() / size[~strong].sum())
    off = factor[:, None] * push
    found = own_drift_misfit(push, xi + off)
    nats = np.sum(off**2) / 2
    # Of some ten numbers, and of a normal number of this size.
    error = np.hypot(5**0.5, (2 * nats) ** 0.5)
    assert found.chance < 1e-6 and abs(found.nats - nats) < 4 * error
    assert drift_misfit(z, xi + off).chance > 1e3 * found.chance


def test_what_a_prior_holds_back_is_no_misfit():
    """Coefficients from their own prior, fitted under it to four fifths of the pairs; half of each is known.

    Every one is shrunk, so residuals lie along what is fitted.
    """
    chances, naive = [], []
    for seed in range(20):
        generator = np.random.default_rng([seed, 9])
        X = generator.standard_normal((6000, 300)) * np.exp(generator.standard_normal((6000, 1)) / 2)
        own = np.arange(6000) < 4800
        precision = np.sum(X[own, 0] ** 2)
        y = X @ generator.standard_normal(300) / precision**0.5 + generator.standard_normal(6000)
        theta = np.linalg.solve(X[own].T @ X[own] + precision * np.eye(300), X[own].T @ y[own])
        optimism = Optimism.drawn(
            X[:, None],
            np.full(300, precision),
            precision * theta,
            np.arange(6000),
            own,
            share=1.0,
            total=4800,
            generator=generator,
        )
        push, xi = (X @ theta)[:, None], (y - X @ theta)[:, None]
        chances.append(own_drift_misfit(push, xi, optimism).chance)
        naive.append(own_drift_misfit(push, xi).chance)
    assert np.sum(np.array(chances) < 0.05) <= 5 and min(chances) > 1e-4
    assert np.median(naive) < 1e-4


def test_classes_are_halves_of_what_is_left():
    found = edges(100_000)
    assert found[:3] == [50_000, 75_000, 87_500] and FEWEST <= 100_000 - found[-1] < 2 * FEWEST + 2


@pytest.mark.parametrize("count", [0, 10, 2 * FEWEST - 1])
def test_few_pairs_are_one_class_or_none(count):
    xi = np.random.default_rng(0).standard_normal((count, 2))
    found = own_drift_misfit(np.ones((count, 2)), xi)
    assert found.chance == 1.0 if count < FEWEST else 1e-4 < found.chance < 1.0
    assert edges(count) == []


def test_a_drift_of_zero_is_not_asked():
    xi = np.random.default_rng(0).standard_normal((1000, 2))
    assert own_drift_misfit(np.zeros((1000, 2)), xi).chance == 1.0
