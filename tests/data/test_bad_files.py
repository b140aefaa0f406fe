"""Bad files and bad wishes: one sentence that names the file, and nothing half-written."""

import os
import resource

import h5py
import numpy as np
import polars as pl
import pytest

from uidd._checks import InputError
from uidd.data import Trajectories, load_trajectories, save_trajectories

WALK = np.cumsum(np.random.default_rng(0).normal(size=(4, 6, 2)), axis=1)
DATA = Trajectories.from_arrays(WALK, dt=0.1)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def sentence(path, **arguments):
    with pytest.raises(InputError) as caught:
        load_trajectories(path, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


TEXTS = {
    "empty": ("", {}, "which is empty"),
    "only comments": ("# a\n\n#b\n", {}, "which is empty"),
    "only a header": ("t,x\n", {}, "rows below its header"),
    "text among numbers": ("t,x\n0,1\n1,fast\n", {}, "`x` must be a column of numbers; got 'fast' in row 2."),
    "only text": ("t,x\n0,a\n1,b\n", {}, "`columns` must be columns of numbers"),
    "text in a named column": ("t,x\n0,a\n1,b\n", {"columns": ["x"]}, "`x` must be a column of numbers"),
    "column that is not there": ("t,speed\n0,1\n1,2\n", {"columns": ["sped"]}, "Did you mean 'speed'?"),
    "time that is not there": ("clock,x\n0,1\n1,2\n", {"time": "clok"}, "Did you mean 'clock'?"),
    "ids that are not there": ("who,t,x\n0,1,2\n", {"trajectory": "whom"}, "Did you mean 'who'?"),
    "no time": ("x,y\n0,1\n1,2\n", {}, "`dt` must be given"),
    "frames without dt": ("frame,x\n0,1\n1,2\n", {}, "--dt"),
    "two time columns": ("t,time_s,x\n0,0,1\n1,1,2\n", {}, "got 't', 'time_s'"),
    "two id columns": ("run,cell,t,x\n0,0,0,1\n", {}, "got 'run', 'cell'"),
    "time without value": (
        "t,x\n0,1\n,2\n",
        {},
        "`t` must be a number in every row; got an empty cell in row 2",
    ),
    "id without value": ("id,t,x\n0,0,1\n0,1,2\n,0,2\n", {}, "`id` must be an id in every row"),
    "falling time": ("t,x\n0,1\n1,2\n0,1\n", {}, "`times` must be increasing"),
    "one name twice": ("t,x,x\n0,1,2\n1,2,3\n", {}, "'x' more than once"),
    "a long line": ("t,x\n0,1\n1,2,3\n", {}, "the same number of cells in every line"),
    "an open quote": ('t,x\n0,"1\n1,2\n', {}, "the same number of cells in every line"),
    "infinite": ("t,x\n0,1\n1,1e999\n", {}, "an infinite or huge value"),
    "constant": ("t,x\n0,1\n1,1\n", {}, "Coordinate 'x' is constant"),
    "one frame": ("t,x\n0,1\n", {}, "two frames or more"),
    "binary": (b"t,x\n\0\0", {}, "which is binary"),
    "not UTF-8": (b"t,x\n\xff\xfe\n", {}, "cannot be read as one"),
}


@pytest.mark.parametrize(("text", "arguments", "says"), TEXTS.values(), ids=TEXTS.keys())
def test_a_bad_table_is_answered_with_one_sentence_that_names_it(tmp_path, text, arguments, says):
    file = tmp_path / "bad.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = sentence(file, **arguments)
    assert says in said and str(file) in said


ARCHIVES = {
    "no array": ({}, {}, "no array"),
    "only text": ({"a": np.array(["b"])}, {}, "'a' (1,) <U1"),
    "objects": ({"states": np.array([WALK[0], WALK[1, :3]], object)}, {}, "an array of Python objects"),
    "complex numbers": ({"states": 1j * WALK, "dt": 1}, {}, "complex128"),
    "four axes": ({"states": WALK[None], "dt": 1}, {}, "shape (1, 4, 6, 2)"),
    "unknown names": ({"a": WALK, "b": WALK}, {}, "'a' (4, 6, 2) float64, 'b'"),
    "two known names": ({"states": WALK, "data": WALK}, {}, "got 'states', 'data'"),
    "x beside y": ({"x": WALK[..., 0], "y": WALK[..., 1]}, {}, "got 'x', 'y'"),
    "arrays without names": ({"arr_0": WALK[0, :, 0], "arr_1": WALK[1, :, 0]}, {}, "got 'arr_0', 'arr_1'"),
    "no time": ({"states": WALK}, {}, "`dt` must be given"),
    "two dt": ({"states": WALK, "dt": [1, 2]}, {}, "one positive number"),
    "negative dt": ({"states": WALK, "dt": -1}, {}, "`dt` must be a positive"),
    "short times": ({"states": WALK, "t": np.arange(5)}, {}, "for 6 frames"),
    "short ids": ({"states": WALK[0], "track": np.arange(5), "dt": 1}, {}, "one id for each of the 6 frames"),
    "lengths that do not add up": ({"states": WALK[0], "lengths": [2, 3], "dt": 1}, {}, "the 6 frames"),
    "negative lengths": ({"states": WALK[0], "lengths": [-2, 8], "dt": 1}, {}, "`lengths` must be"),
    "bad origins": ({"states": WALK[0], "lengths": [2, 4], "origins": [1], "dt": 1}, {}, "`origins` must be"),
    "too few names": ({"states": WALK, "coordinates": ["x"], "dt": 1}, {}, "2 names, one a coordinate"),
    "key that is not there": ({"states": WALK, "stamps": np.arange(6)}, {"time": "stamp"}, "'stamps'?"),
    "coordinate that is not there": ({"states": WALK, "dt": 1}, {"columns": ["z3"]}, "Known: z1, z2."),
    "columns of two shapes": ({"a": WALK, "b": WALK[0]}, {"columns": ["a", "b"], "dt": 1}, "one dimension"),
}


@pytest.mark.parametrize(("arrays", "arguments", "says"), ARCHIVES.values(), ids=ARCHIVES.keys())
def test_a_bad_archive_is_answered_with_one_sentence_that_names_it(tmp_path, arrays, arguments, says):
    file = tmp_path / "bad.npz"
    np.savez(file, **arrays)
    said = sentence(file, **arguments)
    assert says in said and str(file) in said


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    np.save(tmp_path / "trap.npy", np.array([Trap()], object))
    np.savez(tmp_path / "trap.npz", states=np.array([Trap()], object))
    for name in ("trap.npy", "trap.npz"):
        assert "Python objects" in sentence(tmp_path / name, dt=1.0)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("ending", [".npz", ".npy", ".parquet", ".h5", ".hdf5", ".csv", ".tsv"])
@pytest.mark.parametrize("content", [PNG, b"", b"PAR1" + PNG + b"PAR1"])
def test_a_file_that_is_not_what_its_ending_says_is_named(tmp_path, ending, content):
    file = tmp_path / f"wrong{ending}"
    file.write_bytes(content)
    said = sentence(file, dt=1.0)
    assert "`path` must be" in said and repr(str(file)) in said


def test_an_array_is_no_archive_and_an_archive_is_no_array(tmp_path):
    np.save(tmp_path / "a.npy", WALK)
    np.savez(tmp_path / "b.npz", WALK)
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    (tmp_path / "b.npz").rename(tmp_path / "b.npy")
    assert "a NumPy archive (.npz)" in sentence(tmp_path / "a.npz", dt=1.0)
    assert "a NumPy array file (.npy)" in sentence(tmp_path / "b.npy", dt=1.0)


def test_a_header_that_asks_for_absurd_memory_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", WALK[0])
    raw = (tmp_path / "x.npy").read_bytes().replace(b"(6, 2), }           ", b"(9999999999999, 99)}", 1)
    (tmp_path / "x.npy").write_bytes(raw)
    assert "`path` must be a NumPy array file (.npy)" in sentence(tmp_path / "x.npy", dt=1.0)
    with h5py.File(tmp_path / "x.h5", "w") as root:
        root.create_dataset("states", shape=(10**12, 2), dtype=float, chunks=(1000, 2))
    assert "fits into memory" in sentence(tmp_path / "x.h5", dt=1.0)


def test_columns_of_dates_and_several_groups_are_refused(tmp_path):
    dates = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 3), "1d", eager=True)
    pl.DataFrame({"time": dates, "x": [1.0, 2.0, 1.5]}).write_parquet(tmp_path / "d.parquet")
    assert "`time` must be a column of numbers; got values of type Datetime" in sentence(
        tmp_path / "d.parquet"
    )
    with h5py.File(tmp_path / "g.h5", "w") as root:
        root["a/x"] = root["b/x"] = WALK[0]
    assert "the groups 'a', 'b'" in sentence(tmp_path / "g.h5", dt=1.0)


def test_a_path_must_be_a_file_that_can_be_read(tmp_path, monkeypatch):
    assert "a file that exists" in sentence(tmp_path / "none.csv")
    assert "which is a folder" in sentence(tmp_path)
    assert "the name of a file; got None" in sentence(None)
    assert "can be opened" in sentence("a\0.csv")
    (tmp_path / "data.xlsx").write_text("x")
    assert ".csv .tsv .parquet .npz .npy .h5 .hdf5" in sentence(tmp_path / "data.xlsx")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "no regular file" in sentence(tmp_path / "pipe.csv")

    def locked(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", locked)
    assert "a file that you may read" in sentence(tmp_path / "data.xlsx")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"dt": 1.0, "time": "t"}, "got both"),
        ({"dt": 0}, "`dt` must be a positive"),
        ({"max_step": -1}, "`max_step` must be a positive"),
        ({"columns": []}, "at least one coordinate"),
        ({"columns": ["x", "x"]}, "different names"),
        ({"columns": ["x", "t"], "time": "t"}, "which `columns` names too"),
    ],
)
def test_contradictory_wishes_are_refused_before_the_file_is_read(tmp_path, arguments, says):
    assert says in sentence(tmp_path / "none.csv", **arguments)


def test_what_cannot_be_saved_is_said_and_nothing_is_left_behind(tmp_path):
    for path, says in [
        (tmp_path / "x.csv", "the ending .npz"),
        (None, "the name of a file"),
    ]:
        with pytest.raises(InputError, match=says):
            save_trajectories(DATA, path)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="Could not write"):
        save_trajectories(DATA, tmp_path / "folder.npz")
    with pytest.raises(InputError, match="`data` must be Trajectories"):
        save_trajectories(WALK, tmp_path / "x.npz")
    assert [f.name for f in tmp_path.iterdir()] == ["folder.npz"]


def test_a_full_disk_leaves_the_old_file_as_it_was(tmp_path):
    save_trajectories(DATA, tmp_path / "x.npz")
    before = (tmp_path / "x.npz").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(InputError, match="File too large"):
            save_trajectories(DATA, tmp_path / "x.npz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [f.name for f in tmp_path.iterdir()] == ["x.npz"]
    assert (tmp_path / "x.npz").read_bytes() == before


def test_a_reader_that_dies_on_a_damaged_file_takes_nobody_along(tmp_path, monkeypatch):
    pl.DataFrame({"t": [0.0, 1.0], "x": [1.0, 2.0]}).write_parquet(tmp_path / "d.parquet")
    monkeypatch.setattr("uidd.data.files.parquet._READ_IN_CHILD", "import os; os.abort()")
    assert "`path` must be a Parquet file" in sentence(tmp_path / "d.parquet")
