"""Files: every format gives back what was written; what is obvious is guessed."""

import subprocess
import sys

import h5py
import numpy as np
import polars as pl
import pytest

from uidd.data import Trajectories, load_trajectories, save_trajectories

RNG = np.random.default_rng(0)
PATHS = [np.cumsum(RNG.normal(size=(n, 2)), axis=0) for n in (4, 7, 2)]
STAMPS = [np.cumsum(RNG.uniform(0.1, 1.0, size=len(p))) for p in PATHS]
TABLE = pl.DataFrame(
    {
        "track": np.repeat([5, 3, 9], [4, 7, 2]),
        "time": np.concatenate(STAMPS),
        "x": np.concatenate(PATHS)[:, 0],
        "y": np.concatenate(PATHS)[:, 1],
    }
)
EXPECTED = Trajectories.from_arrays(PATHS, times=STAMPS, coordinates=["x", "y"])


def assert_equal(a, b):
    assert (a.origins, a.coordinates, a.units, a.time_unit) == (
        b.origins,
        b.coordinates,
        b.units,
        b.time_unit,
    )
    assert_same_paths(a, b)


def assert_same_paths(a, b):
    assert len(a) == len(b)
    for mine, other in zip((*a.states, *a.times), (*b.states, *b.times), strict=True):
        assert np.array_equal(mine, other)


@pytest.fixture
def csv(tmp_path):
    def write(text, name="data.csv"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@pytest.fixture
def npz(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return write


def test_our_own_file_gives_back_an_equal_object(tmp_path):
    x = np.cumsum(RNG.normal(size=(3, 9, 2)), axis=1)
    x[1, 4] = np.nan
    data = Trajectories.from_arrays(
        [*x, x[0, :1], x[0, :3]], dt=0.1, coordinates=["a", "μ b"], units=["um", ""], time_unit="min"
    )
    assert data.origins == (0, 1, 1, 2, 4)
    for piece in (data, data.select([3, 1]), data.split(seed=0)[0]):
        save_trajectories(piece, tmp_path / "own.npz")
        assert_equal(load_trajectories(tmp_path / "own.npz"), piece)


def test_our_own_file_takes_another_dt_and_a_choice_of_coordinates(tmp_path):
    save_trajectories(EXPECTED, tmp_path / "own.npz")
    other = load_trajectories(tmp_path / "own.npz", dt=2.0, columns=["y"])
    assert other.coordinates == ("y",) and other.times[0].tolist() == [0, 2, 4, 6]
    assert np.array_equal(other.states[1][:, 0], PATHS[1][:, 1])


def test_a_saved_file_replaces_the_old_one_and_leaves_nothing_else(tmp_path):
    (tmp_path / "own.npz").write_text("old")
    save_trajectories(EXPECTED, tmp_path / "own.npz")
    assert [f.name for f in tmp_path.iterdir()] == ["own.npz"]


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.CSV", "d.parquet"])
def test_every_table_round_trips(tmp_path, name):
    write = {"d.tsv": lambda f: TABLE.write_csv(f, separator="\t"), "d.parquet": TABLE.write_parquet}
    write.get(name, TABLE.write_csv)(tmp_path / name)
    assert_equal(load_trajectories(tmp_path / name), EXPECTED)


@pytest.mark.parametrize("ending", [".npz", ".h5", ".hdf5"])
def test_every_container_of_arrays_round_trips(tmp_path, ending):
    arrays = {
        "states": np.concatenate(PATHS),
        "t": np.concatenate(STAMPS),
        "track": TABLE["track"].to_numpy(),
    }
    file = tmp_path / f"d{ending}"
    if ending == ".npz":
        np.savez_compressed(file, **arrays)
    else:
        with h5py.File(file, "w") as root:
            for name, array in arrays.items():
                root.create_dataset(name, data=array, chunks=True, compression="gzip")
    assert_same_paths(load_trajectories(file), EXPECTED)


@pytest.mark.parametrize("shape", [(5, 6, 2), (30, 2), (60,)])
def test_an_array_file_is_read_as_from_arrays_takes_it(tmp_path, shape):
    x = RNG.normal(size=shape)
    np.save(tmp_path / "x.npy", x)
    assert_equal(load_trajectories(tmp_path / "x.npy", dt=0.1), Trajectories.from_arrays(x, dt=0.1))


def test_rows_of_one_trajectory_need_not_be_neighbours(csv):
    data = load_trajectories(csv("Particle ID,t,x\nb,0,1\na,0,5\nb,1,2\na,1,7\n"))
    assert [s.ravel().tolist() for s in data.states] == [[1, 2], [5, 7]]


@pytest.mark.parametrize("name", ["trajectory", "TRAJ", "track_id", "Particle", "id", "path", "run", "Cell"])
def test_a_trajectory_column_is_known_by_its_name(csv, name):
    data = load_trajectories(csv(f"{name},t,x\n1,0,1\n1,1,2\n2,0,5\n2,1,7\n"))
    assert len(data) == 2 and data.coordinates == ("x",)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("t", ""), ("Time", ""), ("time_s", "s"), ("timestamp", ""), ("time [ms]", "ms"), ("t (min)", "min")],
)
def test_a_time_column_is_known_by_its_name_and_tells_its_unit(csv, name, unit):
    data = load_trajectories(csv(f"{name},x\n0,1\n3,2\n"))
    assert data.times[0].tolist() == [0, 3] and data.time_unit == unit


def test_left_out_frames_become_longer_steps(csv):
    data = load_trajectories(csv("frame,x\n3,1\n4,2\n7,1\n"), dt=0.5)
    assert data.times[0].tolist() == [1.5, 2.0, 3.5]
    assert load_trajectories(csv("frame,x\n3,1\n4,2\n7,1\n"), time="frame").times[0].tolist() == [3, 4, 7]
    assert len(load_trajectories(csv("frame,x\n3,1\n4,2\n7,1\n8,1\n"), dt=0.5, max_step=1.0)) == 2


def test_a_given_dt_wins_over_a_time_column_that_is_then_no_coordinate(csv):
    data = load_trajectories(csv("time,x\n0,1\n3,2\n"), dt=0.5)
    assert data.times[0].tolist() == [0, 0.5] and data.coordinates == ("x",)


def test_index_and_text_columns_are_no_coordinates(csv):
    data = load_trajectories(csv(",Unnamed: 0,id,Na,label,t\n0,0,0,1,a,0\n1,1,1,2,b,1\n"))
    assert data.coordinates == ("Na",) and len(data) == 1


def test_named_columns_are_taken_in_their_order(csv):
    data = load_trajectories(csv("q,t,x,c\n7,0,1,5\n9,1,2,6\n"), columns=["x", "t"], time="q")
    assert data.coordinates == ("x", "t") and data.states[0].tolist() == [[1, 0], [2, 1]]


def test_empty_cells_are_missing_frames(csv):
    data = load_trajectories(csv("x,y\n1,2\n2,3\n,4\n4,NA\n\n6,7\n7,nan\n8,9\n9,8\n"), dt=1.0)
    assert [t.tolist() for t in data.times] == [[0, 1], [7, 8]]
    stamped = load_trajectories(csv("t,x\n0,1\n1,2\n\n2,3\n\n"))
    assert stamped.times[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_seen_in_the_first_line(csv, separator):
    assert load_trajectories(csv("t,x\n0,1\n1,2\n".replace(",", separator))).coordinates == ("x",)


@pytest.mark.parametrize(
    "text",
    [
        b"# by the microscope\n\n# May, 2024, again\nt,x\n0,1.5\n1,2\n",
        b"# t,x\n0,1.5\n1,2\n",
        b"\xef\xbb\xbft,x\r\n0,1.5\r\n1,2\r\n",
        "t\tx\n0\t1.5\n1\t2\n".encode("utf-16"),
        b"t;x\n0;1,5\n1;2,0\n",
        b't,"x"\n"0",1.5\n 1 ,2',
    ],
)
def test_comments_marks_and_decimal_commas_are_understood(csv, text):
    data = load_trajectories(csv(text))
    assert data.coordinates == ("x",) and data.states[0].ravel().tolist() == [1.5, 2.0]


def test_a_table_without_a_header_has_columns_z1_z2(csv):
    data = load_trajectories(csv("0,1\nNA,2\n1,4\n2,3\n"), dt=1.0)
    assert data.coordinates == ("z1", "z2") and data.states[0].tolist() == [[1, 4], [2, 3]]
    assert load_trajectories(csv("0,1\n2,3\n"), time="z1").coordinates == ("z2",)


@pytest.mark.parametrize(
    "key", ["states", "x", "z", "data", "trajectories", "positions", "paths", "whatever"]
)
def test_the_states_in_an_archive_are_known_by_name_or_are_all_there_is(npz, key):
    x = RNG.normal(size=(4, 5, 2))
    assert_same_paths(load_trajectories(npz(**{key: x, "dt": 0.1})), Trajectories.from_arrays(x, dt=0.1))
    t = np.arange(5.0) ** 2
    assert_same_paths(load_trajectories(npz(**{key: x, "times": t})), Trajectories.from_arrays(x, times=t))


def test_one_array_a_trajectory_is_read_in_natural_order(npz, tmp_path):
    arrays = {"p10": PATHS[2], "p9": PATHS[1], "p1": PATHS[0]}
    expected = Trajectories.from_arrays(PATHS, dt=0.1)
    assert_equal(load_trajectories(npz(**arrays), dt=0.1), expected)
    with h5py.File(tmp_path / "d.h5", "w") as root:
        root.attrs["dt"] = 0.1
        for name, array in arrays.items():
            root[f"recordings/{name}"] = array
    assert_equal(load_trajectories(tmp_path / "d.h5"), expected)


def test_arrays_of_one_length_are_the_columns_of_a_table(npz):
    columns = {name: TABLE[name].to_numpy() for name in TABLE.columns}
    assert_equal(load_trajectories(npz(**columns)), EXPECTED)
    assert load_trajectories(npz(**columns), columns=["y"]).coordinates == ("y",)


def test_the_states_among_several_arrays_can_be_named(npz):
    x = RNG.normal(size=(4, 5, 2))
    data = load_trajectories(npz(velocity=2 * x, place=x), dt=1.0, columns=["place"])
    assert_equal(data, Trajectories.from_arrays(x, dt=1.0))


def test_reading_libraries_are_imported_only_when_a_file_is_read():
    program = "import sys, uidd.data; print({'polars', 'h5py'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_tracking_program_s_lines_of_words_and_own_columns_are_left_out(tmp_path):
    """As TrackMate writes: names, then long names, short names and units, then numbers."""
    (tmp_path / "t.csv").write_text(
        "LABEL,TRACK_ID,QUALITY,POSITION_X,POSITION_Y,POSITION_T,FRAME,RADIUS\n"
        "Label,Track ID,Quality,X,Y,T,Frame,Radius\n"
        "Label,Track ID,Quality,X,Y,T,Frame,R\n"
        ",,(quality),(micron),(micron),(sec),,(micron)\n"
        "ID1,0,5.5,1.0,2.0,0.0,0,0.5\n"
        "ID2,0,5.1,1.5,2.5,0.1,1,0.5\n"
        "ID3,0,5.2,1.1,2.1,0.2,2,0.5\n"
    )
    data = load_trajectories(tmp_path / "t.csv")
    assert data.coordinates == ("POSITION_X", "POSITION_Y")
    assert data.pair_count == 2
