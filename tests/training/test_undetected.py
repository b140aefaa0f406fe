"""Currents that a fit overlooks, and what they do to the interval of the rate."""

import numpy as np
import pytest

from uidd.thermodynamics.records import Estimate
from uidd.training.regression.features import IN_CELLS
from uidd.training.solvers.group_evidence import GroupEvidence
from uidd.training.solvers.local_posterior import LOG_PRIOR_ODDS
from uidd.training.undetected import undetected_nats


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_what_is_overlooked_brings_the_evidence_that_is_asked_for(dimension):
    """Vortices in all planes of all cells, each of the size at which they are worth so many nats together:
    the mean evidence at their precision is the doubt, to 4 standard errors. Over 20 seeds in the three
    dimensions the largest was 3.2."""
    generator, repeats = np.random.default_rng(0), 4000
    k = IN_CELLS // (dimension + 1) * dimension * (dimension - 1) // 2
    precision = k / 2 / (3**0.5 * undetected_nats(dimension))
    x = generator.standard_normal((repeats, k)) / precision**0.5
    scores = x + generator.standard_normal(x.shape)
    evidence = np.array([GroupEvidence(np.ones(k), s)(precision) for s in scores])
    assert abs(evidence.mean() - LOG_PRIOR_ODDS) < 4 * evidence.std() / repeats**0.5


def test_one_dimension_has_no_currents():
    assert undetected_nats(1) == 0.0


def test_a_current_that_was_overlooked_can_only_add():
    low, high = Estimate(10.0, 5.0, upward=4.0).interval
    assert (low, high) == (pytest.approx(10 - 1.959964 * 3), pytest.approx(10 + 1.959964 * 5))
    assert Estimate(10.0, 4.0, upward=4.0).interval[0] == 10.0


def test_a_wider_error_is_wider_on_both_sides():
    low, high = Estimate(10.0, 5.0, upward=4.0).widened(12.0).interval
    assert (low, high) == (pytest.approx(10 - 1.959964 * 153**0.5), pytest.approx(10 + 1.959964 * 13))
