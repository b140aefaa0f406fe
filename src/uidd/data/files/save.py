"""`save_trajectories`: one plain NumPy archive, written whole or not at all."""

import io
import os
from pathlib import Path

import numpy as np

from ..._checks import fail
from ..._files import write_atomically
from ..trajectories import Trajectories


def save_trajectories(data: Trajectories, path: str | os.PathLike[str]) -> None:
    """Write `data` to a `.npz` file that `load_trajectories` gives back exactly.

    The arrays are `states` (N, D) and `times` (N,) of all pieces behind one another, `lengths` and
    `origins` of the pieces, and the words `coordinates`, `units`, `time_unit`. A file that was there
    is replaced only once the new one is complete.

    >>> import tempfile
    >>> from uidd.data import Trajectories, load_trajectories
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_trajectories(Trajectories.from_arrays([[0.0, 1.0, 0.5]], dt=0.1), folder + "/walk.npz")
    ...     load_trajectories(folder + "/walk.npz")
    Trajectories(1 paths, 2 pairs, D=1, total time 0.2)
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Build them with `Trajectories.from_arrays`.")
    try:
        target = Path(os.path.realpath(path))
    except (TypeError, ValueError, OSError):
        fail("path", "the name of a file", repr(path))
    if target.suffix.lower() != ".npz":
        fail("path", "a file with the ending .npz", repr(str(path)))
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, **_arrays(data))
    write_atomically(target, archive.getvalue())


def _arrays(data: Trajectories) -> dict[str, np.ndarray]:
    return {
        "states": np.concatenate(data.states),
        "times": np.concatenate(data.times),
        "lengths": np.array([len(s) for s in data.states], dtype=np.int64),
        "origins": np.array(data.origins, dtype=np.int64),
        "coordinates": np.array(data.coordinates, dtype=str),
        "units": np.array(data.units, dtype=str),
        "time_unit": np.array(data.time_unit, dtype=str),
    }
