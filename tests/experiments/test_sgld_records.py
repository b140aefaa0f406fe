"""Records of the study of batch sizes: rank correlations that know their noise, and tables."""

import numpy as np

from uidd.experiments.sgld.problems import ica, least_squares
from uidd.experiments.sgld.records import BatchStudy, RankCorrelation, compare
from uidd.experiments.sgld.table import table

FALLING = 4.0 ** -np.arange(7)


def study(b, rate, full, half=None, **more):
    names = ("rate", "circulation_rate", "exact", "fisher", "fisher_exact")
    figures = dict.fromkeys(names, rate) | {f"{name}_error": 0.1 * FALLING[-1] for name in names}
    figures["result"] = "ok"
    figures |= {"circulation_rate_plug_in": rate, "fisher_plug_in": rate, "seconds": 1.0, **more}
    if b is not None:
        figures["to_full"] = [full, 1e-9, full]
    if half is not None:
        figures["to_half"] = [half, 1e-9, half]
    return BatchStudy(b, 0, figures, np.zeros((3, 2)))


def studies():
    some = [study(2**k, v, v, v if k else None) for k, v in enumerate(FALLING)]
    return [*some, study(None, 0.0, 0.0)]


def test_two_falling_curves_are_of_the_same_rank():
    x, error = FALLING, np.full(7, 1e-9)
    found = RankCorrelation.of(x, error, 3 * x, error)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
    assert RankCorrelation.of(x, error, -x, error).value == -1.0


def test_a_curve_of_noise_has_a_rank_correlation_of_anything():
    """The 90 % range of Spearman's coefficient of seven independent values is about -0.71 to 0.71."""
    x, error = FALLING, np.full(7, 1e-9)
    found = RankCorrelation.of(x, error, x, np.full(7, 1e3))
    assert found.value == 1.0
    assert -0.85 < found.low < -0.55 and 0.55 < found.high < 0.85


def test_b_1_and_b_64_are_compared_in_standard_errors():
    found = compare(studies())
    np.testing.assert_allclose(found.separation, (1 - FALLING[-1]) / (0.1 * FALLING[-1] * 2**0.5))
    assert found.rate_with_discrepancy.value == found.half_with_discrepancy.value == 1.0


def test_a_table_has_no_column_without_an_entry():
    some = studies()
    words = table(least_squares(), some, compare(some))
    assert "small-step limit" not in words and "published, 4 seeds" not in words
    assert "published, 4 seeds" in table(ica(), some, compare(some))
    with_limit = [study(1, 1.0, 1.0, limit=2.0, fisher_limit=3.0), *some[1:]]
    lines = table(least_squares(), with_limit, compare(some)).splitlines()
    assert "small-step limit" in lines[0] and lines[2].split("|")[4].strip() == "2"
    # All rows of a table are of one length.
    for block in "\n".join(lines).split("\n\n")[:3]:
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_result_that_is_not_ok_stands_in_the_table():
    some = studies()
    assert "result" not in table(ica(), some, compare(some))
    some[1] = study(2, FALLING[1], FALLING[1], FALLING[1], result="outside_support")
    rows = table(ica(), some, compare(some)).splitlines()
    assert "| result |" in rows[0] and "| outside_support |" in rows[3] and "outside_support" not in rows[2]
