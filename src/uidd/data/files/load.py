"""`load_trajectories`: one function for every format, chosen by the ending of the file."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..._checks import InputError, fail
from ..trajectories import Trajectories
from . import arrays, containers, parquet, tables, text
from .reading import regular_file
from .request import Request


def load_trajectories(
    path: str | os.PathLike[str],
    *,
    dt: float | None = None,
    columns: Sequence[str] | None = None,
    time: str | None = None,
    trajectory: str | None = None,
    max_step: float | None = None,
) -> Trajectories:
    r"""Read trajectories from a `.csv .tsv .parquet .npz .npy .h5 .hdf5` file.

    What is not said is guessed from the names in the file where it is obvious, and asked for in one
    sentence where it is not. An empty cell or NaN in a coordinate is a missing frame.

    Args:
        path: The file; its ending says the format.
        dt: The time between two frames. Wins over a time column; with a column of frame numbers,
            time = frame * dt, so that frames left out become longer steps.
        columns: The coordinates, in this order; by default every column of numbers that is left.
        time: The column (table) or key (`.npz`, `.h5`) of the time stamps. Give it or `dt`.
        trajectory: The column or key of the trajectory ids.
        max_step: A step longer than this counts as a gap.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tracks.csv")
    ...     _ = file.write_text("track,frame,x,y\n1,0,.1,.2\n1,1,.3,.1\n2,0,.5,.4\n2,2,.1,.9\n")
    ...     load_trajectories(file, dt=0.5)
    Trajectories(2 paths, 2 pairs, D=2, total time 1.5)
    """
    request = Request.of(dt, columns, time, trajectory, max_step)
    file = regular_file(path)
    if file.suffix.lower() not in _READERS:
        fail(
            "path",
            "a file with one of the endings " + " ".join(_READERS),
            repr(str(path)),
            "Save it in one of these formats.",
        )
    try:
        return _READERS[file.suffix.lower()](file, request)
    except InputError as error:
        # What was found inside the file does not know the file's name yet.
        if repr(str(file)) in str(error):
            raise
        raise InputError(f"{str(file)!r}: {error}") from error


def _table(read: Callable[[Path], tables.Table]) -> Callable[[Path, Request], Trajectories]:
    return lambda file, request: tables.trajectories(read(file), request)


def _arrays(read: Callable[[Path], arrays.Arrays]) -> Callable[[Path, Request], Trajectories]:
    return lambda file, request: arrays.trajectories(read(file), request)


_READERS: dict[str, Callable[[Path, Request], Trajectories]] = {
    ".csv": _table(text.read),
    ".tsv": _table(text.read),
    ".parquet": _table(parquet.read),
    ".npz": _arrays(containers.read_npz),
    ".npy": _arrays(containers.read_npy),
    ".h5": _arrays(containers.read_h5),
    ".hdf5": _arrays(containers.read_h5),
}
