"""From rates to a batch size, on rates made up for it."""

import pytest

from uidd.diagnosis import BatchDiagnosis
from uidd.diagnosis.recommendation import differs, recommend
from uidd.thermodynamics import Estimate


def _batch(size, rate, error, *, broken=False, information=None):
    return BatchDiagnosis(size, Estimate(rate, error), rate + error, 0.5, broken, information, None, 1000, 12)


def test_two_rates_differ_beyond_students_quantile():
    # Equal errors of 12 parts each: 22 degrees of freedom, whose two-sided 1 % quantile is 2.819.
    reference = _batch("full", 0.0, 1.0)
    assert not differs(_batch(1, 2.8 * 2**0.5, 1.0), reference, 0.01)
    assert differs(_batch(1, 2.84 * 2**0.5, 1.0), reference, 0.01)


def test_the_smallest_size_from_which_on_nothing_differs():
    rates = [
        _batch(1, 0.0, 0.1),
        _batch(4, 5.0, 0.1, broken=True),
        _batch(16, 0.1, 0.1),
        _batch(64, 0.0, 0.1),
    ]
    size, words = recommend(rates, 0.01)
    assert size == 16  # 1 is like 64, but 4 in between is not
    assert "Batch size 16 is enough" in words and "would not have been seen" in words


@pytest.mark.parametrize("broken", [True, False])
def test_where_every_smaller_size_differs_the_largest_stays(broken):
    size, words = recommend([_batch(4, 5.0, 0.1, broken=True), _batch(64, 1.0, 0.1, broken=broken)], 0.01)
    assert size == 64 and "No smaller batch size" in words
    assert ("broken even at batch size 64" in words) == broken


def test_a_density_that_is_still_off_is_said():
    off = _batch(4, 0.0, 0.1, information=Estimate(9.0, 1.0))
    assert "density is still off" in recommend([off, _batch("full", 0.0, 0.1)], 0.01)[1]
