"""The maximum mean discrepancy against its closed form for Gaussians, plain sums, and its own error bars."""

import numpy as np
import pytest

from uidd._checks import InputError
from uidd.sampling import maximum_mean_discrepancy

SEED = 0


def mean_kernel(variance, squared_mean, dimension, gamma):
    """E exp(-gamma |u|^2) of u ~ N(mu, variance 1)."""
    c = 1 + 2 * gamma * variance
    return c ** (-dimension / 2) * np.exp(-gamma * squared_mean / c)


def exact(s, t, mu, gamma):
    """MMD^2 of N(0, s^2) and N(mu, t^2): x - x', y - y' and x - y have variances 2 s^2, 2 t^2, s^2 + t^2."""
    D = len(mu)
    within = mean_kernel(2 * s**2, 0.0, D, gamma) + mean_kernel(2 * t**2, 0.0, D, gamma)
    return within - 2 * mean_kernel(s**2 + t**2, np.sum(mu**2), D, gamma)


def repeated(n, m, mu, gamma, times=200):
    """Estimates from as many pairs of sets, N(0, 1) and N(mu, 1)."""
    generator = np.random.default_rng(SEED)
    return [
        maximum_mean_discrepancy(
            generator.normal(size=(n, len(mu))), mu + generator.normal(size=(m, len(mu))), gamma=gamma
        )
        for _ in range(times)
    ]


def collected(found, name):
    return np.array([getattr(one, name) for one in found])


def test_it_is_that_of_two_gaussians():
    """Points of more than one tile on both sides."""
    generator, mu = np.random.default_rng(SEED), np.array([0.3, 0.0, -0.2])
    x, y = generator.normal(size=(1500, 3)), mu + 1.2 * generator.normal(size=(2500, 3))
    for gamma in (0.2, 1.0):
        found, expected = maximum_mean_discrepancy(x, y, gamma=gamma), exact(1.0, 1.2, mu, gamma)
        assert abs(found.unbiased - expected) < 5 * found.standard_error < expected
        assert found.biased > found.unbiased


def test_it_is_the_plain_sum_over_pairs(fresh_seed):
    """Two points are the same and all are far from the origin; only a point and itself make no pair."""
    generator = np.random.default_rng(fresh_seed)
    x, y = generator.normal(size=(30, 2)), generator.normal(size=(1100, 2))
    x[1] = x[0]
    found = maximum_mean_discrepancy(x + 1e4, y + 1e4, gamma=0.7)
    kxx, kyy, kxy = (
        np.exp(-0.7 * np.sum((a[:, None] - b) ** 2, axis=2)) for a, b in ((x, x), (y, y), (x, y))
    )
    n, m = 30, 1100
    unbiased = (kxx.sum() - n) / (n * (n - 1)) + (kyy.sum() - m) / (m * (m - 1)) - 2 * kxy.mean()
    assert found.unbiased == pytest.approx(unbiased, abs=1e-9)
    assert found.biased == pytest.approx(kxx.mean() + kyy.mean() - 2 * kxy.mean(), abs=1e-9)


def test_it_does_not_matter_which_is_which(fresh_seed):
    x, y = np.random.default_rng(fresh_seed).normal(size=(2, 50, 2)) * [[[1.0]], [[2.0]]]
    one, other = maximum_mean_discrepancy(x, y[:40]), maximum_mean_discrepancy(y[:40], x)
    for name in ("unbiased", "standard_error", "error_if_equal", "biased"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12)


def test_equal_densities_have_none_except_for_the_bias():
    """U has mean zero; V exceeds it by (1 - k) / n and (1 - k) / m, of the mean of the pairs within a set."""
    found = repeated(60, 90, np.zeros(3), 1.0)
    within = mean_kernel(2.0, 0.0, 3, 1.0)
    expected = {"unbiased": 0.0, "biased": (1 / 60 + 1 / 90) * (1 - within)}
    for name, value in expected.items():
        values = collected(found, name)
        assert abs(values.mean() - value) < 5 * values.std() / len(values) ** 0.5
    assert min(collected(found, "biased")) > 0
    same = np.random.default_rng(SEED).normal(size=(20, 3))
    assert maximum_mean_discrepancy(same, same).biased == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_its_error_is_that_of_many_repetitions(shift):
    """Both for equal densities and for others, the spread of 300 z-scores, known to 4 %, is one to 20 %."""
    mu = np.full(12, shift)
    found = repeated(150, 200, mu, 0.5, times=300)
    away = collected(found, "unbiased") - exact(1.0, 1.0, mu, 0.5)
    assert abs(np.std(away / collected(found, "standard_error")) - 1) < 0.2


def test_the_error_for_equal_densities_is_right_where_the_kernel_is_wide():
    """There few functions are told apart, and the two errors differ most."""
    found = repeated(100, 150, np.zeros(1), 0.1)
    z = collected(found, "unbiased") / collected(found, "error_if_equal")
    # The mean over 200 squares of (chi^2 - 1) / sqrt(2), the distribution with one function, varies by
    # sqrt(14 / 200), so the spread by .13.
    assert abs(z.std() - 1) < 5 * 0.13
    assert (collected(found, "error_if_equal") <= collected(found, "standard_error")).all()


def test_few_points_have_no_error_bar():
    found = maximum_mean_discrepancy(np.zeros((3, 1)), np.ones((5, 1)))
    assert np.isnan(found.standard_error) and found.unbiased == pytest.approx(2 - 2 * np.exp(-1))


@pytest.mark.parametrize(
    ("x", "y", "gamma", "says"),
    [
        (np.zeros((5, 2)), np.zeros((5, 3)), 1.0, "`y` must be points of 2 coordinates"),
        (np.zeros((1, 2)), np.zeros((5, 2)), 1.0, "`x` must be at least two finite points"),
        (np.zeros((5, 2)), np.zeros(5), 1.0, "`y` must be at least two finite points"),
        (np.zeros((5, 2)), np.full((5, 2), np.nan), 1.0, "got 5 that are not finite"),
        (np.zeros((5, 2)), "draws", 1.0, "`y` must be at least two finite points"),
        (np.zeros((5, 2)), np.zeros((5, 2)), -1.0, "`gamma` must be a positive"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(x, y, gamma, says):
    with pytest.raises(InputError, match=says):
        maximum_mean_discrepancy(x, y, gamma=gamma)
