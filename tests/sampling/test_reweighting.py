"""Weights from one Gaussian to another, whose mean and loss of draws are known."""

import numpy as np
import pytest

from uidd._checks import InputError
from uidd.sampling import reweighted


def test_reweighted_draws_have_the_other_gaussians_mean_and_the_known_effective_size():
    """From N(0, 1) to N(m, 1): w ~ e^(m z), and n / ess -> E w^2 / (E w)^2 = e^(m^2).

    The mean errs by sqrt(E w^2 (z - m)^2 / n) / E w = sqrt(e^(m^2) (1 + m^2) / n).
    """
    n, m = 20_000, 0.6
    z = np.random.default_rng(0).standard_normal(n)
    weights, size = reweighted(z**2 / 2 + 7.0, (z - m) ** 2 / 2)  # a constant does not matter
    assert abs(weights.sum() - 1) < 1e-12
    assert abs(weights @ z - m) < 5 * np.sqrt(np.exp(m**2) * (1 + m**2) / n)
    assert abs(size / n * np.exp(m**2) - 1) < 0.05


def test_a_forbidden_state_gets_no_weight():
    weights, size = reweighted([0.0, 1000.0, 1.0], [2.0, 1002.0, np.inf])
    np.testing.assert_allclose(weights, [0.5, 0.5, 0])
    assert size == pytest.approx(2)


@pytest.mark.parametrize(
    ("name", "values", "other"),
    [
        ("values", [], []),
        ("values", [np.nan], [1.0]),
        ("values", [[1.0]], [[1.0]]),
        ("other", [1.0, 2.0], [1.0]),
        ("other", [1.0, 2.0], [1.0, np.nan]),
        ("other", [1.0], [np.inf]),
    ],
)
def test_unusable_energies_are_refused_in_one_sentence(name, values, other):
    with pytest.raises(InputError, match=f"`{name}` must be"):
        reweighted(values, other)
