"""The widest priors of V that the data do not exclude, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from stand_ins import Groups
from uidd.training.ensemble import widest
from uidd.training.solvers.group_evidence import GroupEvidence
from uidd.training.solvers.local_posterior import LOG_PRIOR_ODDS, TIGHTEST
from uidd.training.solvers.posterior import Solution
from uidd.training.solvers.scores import Scores
from uidd.training.undetected import share_of_currents

EACH = 30


GROUPS = Groups(np.repeat([0, 1, 2], EACH), (0, 0, 2), 0.1)


def switched_off(information):
    """All groups at zero, where the data point."""
    F = np.diag(np.repeat(information, EACH))
    zero = np.zeros(3 * EACH)
    return Solution(zero, np.full(3, TIGHTEST), F, Scores(0.0, np.zeros((4, 3 * EACH))), 0.0)


@pytest.mark.parametrize("information", [10.0, 1e4])
def test_a_width_is_excluded_at_so_many_nats(information):
    """Scores of zero: the evidence is -k log(1 + S / l) / 2, which is -9 at l = S / (e^(18 / k) - 1)."""
    found = widest(GROUPS, switched_off([information, 1e-3, information]))
    expected = information / (np.exp(2 * LOG_PRIOR_ODDS / EACH) - 1)
    assert found[0] == pytest.approx(expected, rel=0.01)
    # What the data know nothing of is as wide as usual, and W stays as it is.
    assert found[1] == pytest.approx(0.1) and found[2] == TIGHTEST


def test_what_is_wider_than_usual_stays():
    wide = replace(switched_off([10.0, 10.0, 10.0]), precision=np.array([0.01, 0.1, 0.01]))
    np.testing.assert_array_equal(widest(GROUPS, wide), wide.precision)


def test_the_largest_evidence_may_be_at_a_width_of_its_own():
    """Coefficients of size one, well known: widths are excluded on both sides of it."""
    evidence = GroupEvidence(np.full(EACH, 1e3), 1e3 * np.random.default_rng(0).standard_normal(EACH))
    best, most = evidence.largest(1e-4, TIGHTEST)
    loosest = evidence.loosest(1e-4, TIGHTEST, LOG_PRIOR_ODDS)
    assert 1e-4 < loosest < best
    assert evidence(loosest) == pytest.approx(most - LOG_PRIOR_ODDS, abs=0.3)


def test_a_missed_drift_of_one_dimension_is_no_current():
    assert share_of_currents(1) == 0.0 and share_of_currents(2) == 0.5
