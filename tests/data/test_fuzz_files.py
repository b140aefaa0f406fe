"""Whatever the bytes in a file, valid trajectories or one sentence come out."""

import functools
import tempfile
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uidd._checks import InputError
from uidd.data import Trajectories, load_trajectories, save_trajectories

ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".parquet", ".h5")
# A damaged Parquet file costs a process: fewer of them.
EXAMPLES = {".parquet": 12}


def quick(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def check(content, ending, **arguments):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"fuzz{ending}")
        file.write_bytes(content)
        data, said = None, ""
        try:
            data = load_trajectories(file, **arguments)
        except InputError as error:
            said = str(error)
    if data is None:
        assert f"fuzz{ending}" in said and "\n" not in said
        return
    assert len(data) > 0 and data.dimension == len(data.coordinates) > 0
    assert all(s.shape == (len(t), data.dimension) for s, t in zip(data.states, data.times, strict=True))
    assert all(np.isfinite(a).all() for a in data.transitions())
    assert (data.transitions().dt > 0).all()


@functools.cache
def valid(ending):
    x = np.cumsum(np.random.default_rng(0).normal(size=(30, 2)), axis=0)
    track, t = np.repeat([1, 2, 3], 10), np.tile(np.arange(10), 3) * 0.1
    table = pl.DataFrame({"track": track, "t": t, "x": x[:, 0], "y": x[:, 1]})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"valid{ending}")
        if ending == ".npz":
            save_trajectories(Trajectories.from_arrays(x.reshape(3, 10, 2), dt=0.1), file)
        elif ending == ".npy":
            np.save(file, x)
        elif ending == ".h5":
            with h5py.File(file, "w") as root:
                root["times"], root["track"] = t, track
                root.create_dataset("states", data=x, chunks=(7, 2), compression="gzip")
        elif ending == ".parquet":
            table.write_parquet(file)
        else:
            table.write_csv(file, separator="\t" if ending == ".tsv" else ",")
        return file.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_undamaged_file_is_read(ending):
    check(valid(ending), ending, **({"dt": 0.1} if ending == ".npy" else {}))


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_bytes_give_one_sentence_or_data(ending):
    @quick(60)
    @given(st.binary(max_size=300))
    def holds(content):
        check(content, ending, dt=0.1)

    holds()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_short_gives_one_sentence_or_data(ending):
    @quick(60)
    @given(st.integers(0, len(valid(ending)) - 1))
    def holds(length):
        check(valid(ending)[:length], ending, dt=0.1)

    holds()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_with_flipped_bytes_gives_one_sentence_or_data(ending):
    places = st.integers(0, len(valid(ending)) - 1)
    flips = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4)

    @quick(EXAMPLES.get(ending, 150))
    @given(flips, st.sampled_from([None, 0.1]))
    def holds(flips, dt):
        content = bytearray(valid(ending))
        for place, value in flips:
            content[place] = value
        check(bytes(content), ending, dt=dt)

    holds()


CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "t",
            "x",
            "y",
            "frame",
            "id",
            "track",
            "1",
            "2",
            "-.5",
            "1e9",
            "nan",
            "NA",
            "inf",
            '"',
            "#",
            "1,5",
        ]
    ),
    st.integers(-9, 9).map(str),
    st.floats().map(repr),
    st.text(max_size=3),
)


@quick(300)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from([None, 0.1, 1e308, 1e-320]),
)
def test_random_text_gives_one_sentence_or_data(rows, separator, newline, dt):
    text = newline.join(separator.join(row) for row in rows)
    check(text.encode("utf-8", "surrogatepass"), ".csv", dt=dt)
