"""The counting estimator against sums done by hand on three states 0, 1, 2 in three bins."""

import numpy as np
import pytest

from uidd._checks import InputError
from uidd.data import Trajectories
from uidd.systems import Linear
from uidd.thermodynamics import count_entropy_production

DT = 0.5


def of_transitions(counts):
    """One path of two frames for each counted transition."""
    paths = [np.array([[a], [b]]) for (a, b), n in counts.items() for _ in range(n)]
    return Trajectories.from_arrays([p.astype(float) for p in paths], dt=DT)


def test_a_cycle_gives_what_the_sum_gives():
    """200 forwards and 100 backwards on each edge of a cycle, 100 stays; 1000 transitions.

    (1/dt) sum p_ij ln(p_ij / p_ji) = (1/dt) (600 ln 2 - 300 ln 2) / 1000 = 0.3 ln 2 / dt. The stays add ln 1.
    """
    forwards, backwards = [(0, 1), (1, 2), (2, 0)], [(1, 0), (2, 1), (0, 2)]
    data = of_transitions({**dict.fromkeys(forwards, 200), **dict.fromkeys(backwards, 100), (0, 0): 100})
    counted = count_entropy_production(data, 3)
    np.testing.assert_allclose(counted.rate, 0.3 * np.log(2) / DT, rtol=1e-12)
    assert counted.result.successful and counted.unpaired_share == 0
    assert (counted.bins, counted.transitions) == (3, 1000)
    assert counted.standard_error > 0


def test_data_that_are_their_own_reverse_produce_no_entropy():
    """The null control."""
    data = of_transitions({(0, 1): 17, (1, 0): 17, (1, 2): 5, (2, 1): 5, (2, 2): 3})
    assert count_entropy_production(data, 3).rate == 0


def test_an_unseen_reverse_counts_as_a_tenth_of_the_smallest_probability():
    """0 -> 1 and 1 -> 0 are seen 30 times each and cancel; 1 -> 2 is seen 40 times, 2 -> 1 never.

    The smallest positive probability is 30 / 100, a tenth of it 3 / 100: the rate is 0.4 ln(40 / 3) / dt.
    """
    counted = count_entropy_production(of_transitions({(0, 1): 30, (1, 0): 30, (1, 2): 40}), 3)
    np.testing.assert_allclose(counted.rate, 0.4 * np.log(40 / 3) / DT, rtol=1e-12)
    np.testing.assert_allclose(counted.unpaired_share, 0.4, rtol=1e-12)
    assert counted.result.code == "unpaired" and counted.result.message.startswith("40%")


def test_what_reversible_data_of_the_same_size_would_give_is_no_finding():
    counted = count_entropy_production(of_transitions({(0, 1): 50, (1, 0): 48, (1, 2): 2}), 3)
    np.testing.assert_allclose(counted.unpaired_share, 0.02, rtol=1e-12)
    assert counted.result.code == "like_null"


@pytest.mark.parametrize(("strength", "code"), [(1.0, "ok"), (0.0, "like_null")])
def test_the_null_tells_a_current_from_the_bias_of_counting(strength, code):
    """At strength 0 the truth is zero, and all that is counted is bias; the null has the same bias."""
    data = Linear(strength).simulate(2000, 51, scheme="exact", stationary=True, seed=0)
    counted = count_entropy_production(data, 15)
    assert counted.result.code == code
    if strength == 0:
        assert abs(counted.rate - counted.null) < 5 * np.hypot(counted.standard_error, counted.null_spread)


def test_one_trajectory_is_cut_into_blocks():
    """600 frames 0, 1, 2, 0, ... in 20 blocks of 30: in each, 0->1 and 1->2 ten times and 2->0 nine times.

    In all 200, 200 and 180, none with a reverse; a tenth of the smallest is 18.
    """
    data = Trajectories.from_arrays(np.tile([0.0, 1.0, 2.0], 200), dt=DT)
    counted = count_entropy_production(data, 3)
    truth = (400 * np.log(200 / 18) + 180 * np.log(10)) / 580 / DT
    np.testing.assert_allclose(counted.rate, truth, rtol=1e-12)
    assert counted.unpaired_share == 1 and counted.transitions == 580


@pytest.mark.parametrize(("dimension", "bins"), [(6, 1000), (12, 100)])
def test_many_bins_in_many_dimensions_do_not_overflow(dimension, bins):
    """Every transition has its reverse, so the rate is zero, however many cells there are."""
    ends = np.random.default_rng(0).random((30, 2, dimension))
    data = Trajectories.from_arrays(np.concatenate([ends, ends[:, ::-1]]), dt=DT)
    counted = count_entropy_production(data, bins)
    assert counted.rate == 0 and counted.unpaired_share == 0


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, "many", True])
def test_unusable_bins_are_refused_in_one_sentence(bins):
    data = Trajectories.from_arrays(np.tile([0.0, 1.0, 2.0], 20), dt=DT)
    with pytest.raises(InputError, match="`bins` must be a whole number of at least 2"):
        count_entropy_production(data, bins)


def test_a_counted_rate_is_never_shown_or_stored_without_its_null():
    found = count_entropy_production(Linear(1.0).simulate(200, 51, seed=0), 5)
    assert found.to_dict()["null"] == found.null
    assert f"(null {found.null:.3g})" in str(found)
