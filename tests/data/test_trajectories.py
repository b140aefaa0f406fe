"""What `Trajectories` promises: shapes, time stamps, gaps, splits, and one sentence for bad input."""

import numpy as np
import pytest

from uidd._checks import InputError
from uidd.data import Trajectories


def walk(*shape, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=shape), axis=-2)


def frames(data):
    """Every frame as (origin-free) tuples, to compare sets of frames."""
    return {
        (float(t), *map(float, s))
        for S, T in zip(data.states, data.times, strict=True)
        for s, t in zip(S, T, strict=True)
    }


@pytest.mark.parametrize(
    ("x", "count", "dimension"),
    [
        (walk(5, 4, 2), 5, 2),
        (walk(7, 3), 1, 3),
        (walk(7, 1)[:, 0], 1, 1),
        ([walk(3, 2), walk(9, 2), walk(2, 2)], 3, 2),
        ([0.0, 1.0, 0.5], 1, 1),
        (([0, 1, 3], [2, 5]), 2, 1),
        (walk(5, 4, 2).astype(np.float32), 5, 2),
    ],
)
def test_every_shape_becomes_a_list_of_paths(x, count, dimension):
    data = Trajectories.from_arrays(x, dt=0.5)
    assert (len(data), data.dimension) == (count, dimension)
    assert data.origins == tuple(range(count))
    assert all(
        s.dtype == np.float64 and s.shape == (len(t), dimension)
        for s, t in zip(data.states, data.times, strict=True)
    )
    assert data.coordinates == tuple(f"z{i + 1}" for i in range(dimension))


def test_ragged_paths_keep_their_lengths_and_values():
    paths = [walk(3, 2), walk(9, 2), walk(2, 2)]
    data = Trajectories.from_arrays(paths, dt=0.5)
    assert all(np.array_equal(a, b) for a, b in zip(paths, data.states, strict=True))
    assert data.pair_count == 2 + 8 + 1
    assert data.total_time == 11 * 0.5


def test_coordinates_are_chosen_by_name_in_any_order():
    x = walk(3, 5, 3)
    data = Trajectories.from_arrays(x, dt=0.5, coordinates=["a", "b", "c"], units=["m", "s", "kg"])
    some = data.select_coordinates(["c", "a"])
    np.testing.assert_array_equal(np.stack(some.states), x[:, :, [2, 0]])
    assert (some.coordinates, some.units, some.origins) == (("c", "a"), ("kg", "m"), data.origins)
    for names in ("ab", [], ["a", "a"], ["d"]):
        with pytest.raises(InputError, match="`names` must be"):
            data.select_coordinates(names)


def test_a_path_of_one_frame_is_left_out_but_keeps_its_place_among_the_origins():
    data = Trajectories.from_arrays([walk(3, 2), walk(1, 2), walk(4, 2)], dt=1.0)
    assert data.origins == (0, 2)


def test_time_stamps_are_shared_or_own():
    t = np.array([0.0, 0.1, 0.5, 0.6])
    shared = Trajectories.from_arrays(walk(3, 4, 2), times=t)
    assert all(np.array_equal(s, t) for s in shared.times)
    own = Trajectories.from_arrays([walk(4, 2), walk(2, 2)], times=[t, [5.0, 7.0]])
    assert own.times[1].tolist() == [5.0, 7.0]
    table = Trajectories.from_arrays(walk(2, 4, 2), times=np.stack([t, 2 * t]))
    assert np.array_equal(table.times[1], 2 * t)


def test_what_is_stored_does_not_change_with_the_array_it_came_from():
    x, t = walk(5, 2), np.arange(5.0)
    data = Trajectories.from_arrays(x, times=t)
    x[:], t[:] = np.nan, np.nan
    assert np.isfinite(data.states[0]).all() and np.isfinite(data.times[0]).all()


def test_frames_with_nan_cut_and_never_poison():
    x = walk(10, 2)
    x[3, 0] = x[7, 1] = x[8] = np.nan
    data = Trajectories.from_arrays([x, walk(4, 2)], dt=1.0)
    assert [len(s) for s in data.states] == [3, 3, 4]  # frame 9 alone is no piece
    assert data.origins == (0, 0, 1)
    assert data.times[1].tolist() == [4.0, 5.0, 6.0]
    assert all(np.isfinite(a).all() for a in data.transitions())


@pytest.mark.parametrize("dtype", [float, int])
def test_masked_values_are_missing_frames(dtype):
    x = np.ma.masked_array(np.array([0, 2, 1, 4, 3], dtype), mask=[0, 0, 1, 0, 0])
    data = Trajectories.from_arrays(x, dt=1.0)
    assert [s.ravel().tolist() for s in data.states] == [[0, 2], [4, 3]]


def test_a_step_longer_than_max_step_is_a_gap():
    t = np.array([0.0, 1.0, 2.0, 10.0, 11.0])
    data = Trajectories.from_arrays(walk(5, 2), times=t, max_step=1.5)
    assert [s.tolist() for s in data.times] == [[0, 1, 2], [10, 11]]
    assert data.origins == (0, 0)
    assert len(Trajectories.from_arrays(walk(5, 2), times=t)) == 1


def test_transitions_are_all_pairs_and_no_pair_across_a_gap():
    x = np.array([[0.0], [1.0], [np.nan], [5.0], [7.0]])
    pairs = Trajectories.from_arrays([x, [[10.0], [13.0]]], dt=0.5).transitions()
    assert pairs.start.ravel().tolist() == [0, 5, 10]
    assert pairs.increment.ravel().tolist() == [1, 2, 3]
    assert pairs.dt.tolist() == [0.5, 0.5, 0.5]


def test_names_and_units_are_kept_and_shown():
    data = Trajectories.from_arrays(
        walk(5, 2), dt=1.0, coordinates=["x", "y"], units=["um", "um"], time_unit="s"
    )
    assert (data.coordinates, data.units, data.time_unit) == (("x", "y"), ("um", "um"), "s")
    assert repr(data) == "Trajectories(1 paths, 4 pairs, D=2, total time 4 s)"


@pytest.mark.parametrize("count", [3, 20, 25, 137])
@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.1), (0.1, 0.1, 0.8), (1, 1), (5,), (0.01, 0.99)])
def test_a_split_is_disjoint_complete_and_never_empty(count, fractions):
    data = Trajectories.from_arrays([walk(6, 2, seed=k) for k in range(count)], dt=0.1)
    parts = data.split(fractions, seed=3)
    assert len(parts) == len(fractions) and all(len(p) > 0 for p in parts)
    kept = [frames(p) for p in parts]
    assert sum(map(len, kept)) == len(set.union(*kept))
    if count >= 20:
        assert set.union(*kept) == frames(data)
        sizes = np.array([len(set(p.origins)) for p in parts])
        assert (np.abs(sizes - count * np.array(fractions) / sum(fractions)) < len(fractions)).all()


def test_pieces_of_one_origin_stay_together_in_a_split():
    x = walk(30, 9, 2)
    x[:, 4] = np.nan
    parts = Trajectories.from_arrays(x, dt=0.1).split(seed=1)
    origins = [set(p.origins) for p in parts]
    assert sum(map(len, origins)) == 30 == len(set.union(*origins))
    assert sum(map(len, parts)) == 60


def test_a_split_is_the_same_for_one_seed_and_another_for_another():
    data = Trajectories.from_arrays(walk(40, 3, 2), dt=0.1)
    first, again, other = (data.split(seed=s)[1].origins for s in (1, 1, 2))
    assert first == again and first != other


@pytest.mark.parametrize("count", [1, 3, 20, 1000])
def test_blocks_share_no_frame_and_no_pair(count):
    data = Trajectories.from_arrays([walk(50, 1), walk(31, 1, seed=1)], dt=0.1)
    blocks = data.in_blocks(count)
    assert blocks.origins == tuple(range(len(blocks)))
    assert all(len(s) >= 2 for s in blocks.states)
    assert len(frames(blocks)) == sum(map(len, blocks.states))
    assert frames(blocks) <= frames(data)
    assert blocks.pair_count <= data.pair_count


def test_select_keeps_the_chosen_pieces():
    data = Trajectories.from_arrays(walk(5, 4, 2), dt=0.1)
    assert data.select([3, 1]).origins == (3, 1)
    assert np.array_equal(data.select([3, 1]).states[0], data.states[3])


GOOD = walk(4, 2)
BAD = {
    "no data": ([], {"dt": 1.0}, "There is no data"),
    "empty array": (np.empty((0, 2)), {"dt": 1.0}, "There is no data"),
    "no coordinates": (np.empty((5, 0)), {"dt": 1.0}, "at least one coordinate"),
    "one frame": (GOOD[:1], {"dt": 1.0}, "two frames or more"),
    "only gaps": (np.array([0, np.nan, 1, np.nan]), {"dt": 1.0}, "No two successive frames"),
    "only long steps": (GOOD, {"dt": 1.0, "max_step": 0.5}, "No two successive frames"),
    "four axes": (np.zeros((2, 2, 2, 2)), {"dt": 1.0}, "shape (2, 2, 2, 2)"),
    "three axes in a list": ([GOOD, np.zeros((2, 2, 2))], {"dt": 1.0}, "at number 2"),
    "mixed dimensions": ([GOOD, walk(4, 3)], {"dt": 1.0}, "2 coordinates in the first and 3 in number 2"),
    "text": (["a", "b"], {"dt": 1.0}, "an array of real numbers"),
    "complex numbers": (GOOD * 1j, {"dt": 1.0}, "complex128"),
    "objects": (np.array([GOOD, GOOD[:2]], object), {"dt": 1.0}, "list of arrays"),
    "ragged inside": ([[[1.0, 2.0], [3.0]]], {"dt": 1.0}, "NumPy cannot read"),
    "none": (None, {"dt": 1.0}, "an array of numbers"),
    "infinite": (np.array([0, 1, np.inf]), {"dt": 1.0}, "trajectory 1, frame 3"),
    "too large to square": (np.array([0, 1, 1e200]), {"dt": 1.0}, "trajectory 1, frame 3"),
    "constant": (np.array([[0.0, 1], [1, 1], [2, 1]]), {"dt": 1.0}, "'z2' is constant"),
    "no time": (GOOD, {}, "got neither"),
    "two times": (GOOD, {"dt": 1.0, "times": np.arange(4)}, "got both"),
    "zero dt": (GOOD, {"dt": 0}, "`dt` must be a positive"),
    "NaN dt": (GOOD, {"dt": float("nan")}, "`dt` must be a positive"),
    "text dt": (GOOD, {"dt": "fast"}, "`dt` must be a positive number; got 'fast'"),
    "negative max_step": (GOOD, {"dt": 1.0, "max_step": -1}, "`max_step` must be"),
    "short times": (GOOD, {"times": np.arange(3)}, "for 4 frames in trajectory 1"),
    "too few times": ([GOOD, GOOD], {"times": [np.arange(4)]}, "1 for 2 trajectories"),
    "ragged times": (GOOD, {"times": [[[1.0, 2.0], [3.0]]]}, "NumPy cannot read"),
    "NaN time": (GOOD, {"times": [0, 1, np.nan, 3]}, "NaN, infinite or huge time stamp"),
    "repeated time": (GOOD, {"times": [0, 1, 1, 3]}, "1 followed by 1 in trajectory 1"),
    "falling time": (GOOD, {"times": [0, 1, 0, 1]}, "increasing within a trajectory"),
    "too few names": (GOOD, {"dt": 1.0, "coordinates": ["x"]}, "2 names, one a coordinate; got 1"),
    "too many units": (GOOD, {"dt": 1.0, "units": ["m"] * 3}, "2 names, one a coordinate; got 3"),
}


@pytest.mark.parametrize(("x", "arguments", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_answered_with_one_sentence(x, arguments, says):
    with pytest.raises(InputError) as caught:
        Trajectories.from_arrays(x, **arguments)
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("fractions", [(), (0.5, -0.1), (0.5, 0.0), (0.5, "much")])
def test_fractions_of_a_split_are_positive_numbers(fractions):
    with pytest.raises(InputError, match="`fractions` must be"):
        Trajectories.from_arrays(walk(30, 3, 2), dt=1.0).split(fractions, seed=0)


@pytest.mark.parametrize("seed", [-1, 0.5, "a"])
def test_the_seed_of_a_split_is_a_whole_number(seed):
    with pytest.raises(InputError, match="`seed` must be"):
        Trajectories.from_arrays(walk(30, 3, 2), dt=1.0).split(seed=seed)


def test_too_little_data_to_split_is_said():
    with pytest.raises(InputError, match="split into 3 parts; got 4 frames"):
        Trajectories.from_arrays(walk(4, 2), dt=1.0).split(seed=0)
