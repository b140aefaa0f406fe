"""Products of independent noisy fields: no bias, the right error, and a chance that is one."""

import numpy as np
import pytest

from uidd.thermodynamics.cross_fitted import cross_fitted


def _found(strength: float, terms: int, *, repetitions: int = 400, K: int = 12):
    """Fields a_k = strength + noise in `terms` coordinates: E a . a = terms strength^2."""
    generator = np.random.default_rng(0)
    return [
        cross_fitted(np.repeat(strength + generator.standard_normal((K, 1, terms)), 2, axis=1))
        for _ in range(repetitions)
    ]


@pytest.mark.parametrize("terms", [1, 5])
@pytest.mark.parametrize("strength", [0.0, 0.3, 2.0])
def test_the_rate_has_no_bias_and_its_error_is_its_spread(strength, terms):
    found = _found(strength, terms)
    rates = np.array([each.corrected.rate for each in found])
    variances = np.array([each.corrected.standard_error for each in found]) ** 2
    assert abs(rates.mean() - terms * strength**2) < 5 * rates.std() / 20
    # At zero the error, which cannot be less than what it is there, is too large by up to 1.5 in the mean.
    # Of 400 draws the variance has a relative error of 10 %, at zero, where it is that of a square, of 20 %.
    ratio = variances.mean() / rates.var()
    assert 0.5 < ratio < 1.5 if strength else 0.5 < ratio < 4
    assert np.mean([each.plug_in for each in found]) == pytest.approx(terms * (strength**2 + 1), rel=0.1)


@pytest.mark.parametrize("terms", [1, 5])
def test_without_a_field_the_chance_is_uniform(terms):
    chances = np.array([each.chance for each in _found(0.0, terms, repetitions=1000)])
    for level in (0.01, 0.1, 0.5):
        assert abs(np.mean(chances <= level) - level) < 5 * (level * (1 - level) / 1000) ** 0.5


def test_a_strong_field_has_the_least_chance():
    assert all(each.chance == 2.0**-11 for each in _found(5.0, 2, repetitions=5))


def test_correlated_states_count_by_stretches():
    generator = np.random.default_rng(0)
    values = np.repeat(generator.standard_normal((1, 20, 1)) + 2, 50, axis=1)
    fields = np.repeat(values, 6, axis=0)
    alone, together = (cross_fitted(fields, stretches=count) for count in (None, 20))
    squares = values[0, ::50, 0] ** 2
    assert together.corrected.standard_error == pytest.approx(squares.std(ddof=1) / 20**0.5)
    assert alone.corrected.standard_error < together.corrected.standard_error / 5
