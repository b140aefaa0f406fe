"""`.npz`, `.npy` and `.h5`: files of named arrays, read without running anything inside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._checks import fail
from .reading import one_sentence
from .roles import listed

if TYPE_CHECKING:
    import h5py

# Stands for an array that holds Python objects: reading it would run code from the file.
_OBJECTS = np.empty(0, object)


def read_npy(path: Path) -> dict[str, np.ndarray]:
    """The one array of a `.npy` file, under the name `states`."""
    with one_sentence(path, "a NumPy array file (.npy)"), path.open("rb") as stream:
        array = _without_objects(lambda: np.load(stream, allow_pickle=False))
        if not isinstance(array, np.ndarray):
            raise TypeError("an archive under the ending of an array")
        return {"states": array}


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file."""
    with one_sentence(path, "a NumPy archive (.npz)"), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise TypeError("an array under the ending of an archive")
        with archive:
            members = {name: _without_objects(lambda name=name: archive[name]) for name in archive.files}
    return {name: array for name, array in members.items() if isinstance(array, np.ndarray)}


def read_h5(path: Path) -> dict[str, np.ndarray]:
    """The datasets at the root of an HDF5 file, and those in its group if there is one group."""
    import h5py

    with one_sentence(path, "an HDF5 file"), h5py.File(path, "r") as root:
        # No filter of HDF5 packs better than about 1000 to 1; a header that says more is damaged.
        return _datasets(root, most_bytes=2**26 + 2000 * path.stat().st_size, depth=8)


def _without_objects(read: Any) -> Any:
    try:
        return read()
    except ValueError as error:
        if str(error).startswith("Object arrays"):
            return _OBJECTS
        raise


def _datasets(group: "h5py.Group", *, most_bytes: int, depth: int) -> dict[str, np.ndarray]:
    import h5py

    items = {str(name): group.get(str(name)) for name in group}
    groups = {name: item for name, item in items.items() if isinstance(item, h5py.Group)}
    arrays = {
        name: _dataset(item, most_bytes)
        for name, item in items.items()
        if isinstance(item, h5py.Dataset) and item.shape is not None
    }
    if "dt" in group.attrs:
        arrays.setdefault("dt", np.asarray(group.attrs["dt"]))
    if len(groups) == 1 and depth:
        inner = _datasets(next(iter(groups.values())), most_bytes=most_bytes, depth=depth - 1)
        return {**inner, **arrays}
    if len(groups) > 1 and not any(array.ndim for array in arrays.values()):
        where = "at its root or in one group"
        fail("path", f"an HDF5 file with its arrays {where}", f"the groups {listed(list(groups))}")
    return arrays


def _dataset(item: "h5py.Dataset", most_bytes: int) -> np.ndarray:
    import h5py

    if item.nbytes > most_bytes:
        raise MemoryError
    if h5py.check_string_dtype(item.dtype) is not None:
        return np.array(item.asstr()[()], dtype=str)
    return _OBJECTS if item.dtype.kind in "OV" else np.asarray(item[()])
