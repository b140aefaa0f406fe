"""Chains from files."""

import os
from pathlib import Path
from typing import Any

from .._checks import InputError, fail
from ..data.files.containers import read_npy, read_npz
from ..data.files.reading import one_sentence, regular_file
from .chains import FULL, BatchSize, Chains, by_batch_size


def load_chains(path: str | os.PathLike[str]) -> dict[BatchSize, Chains]:
    """Read chains from `.npz` (one array, or arrays named by batch size), `.npy`, or ArviZ's `.nc`.

    Args:
        path: The file. Names such as `64`, `b64`, `batch_64` and `full` say the batch size.
    """
    file = regular_file(path)
    if file.suffix.lower() not in _READERS:
        fail("path", "a file with one of the endings " + " ".join(_READERS), repr(str(path)))
    try:
        return by_batch_size(_READERS[file.suffix.lower()](file))
    except InputError as error:
        if repr(str(file)) in str(error):
            raise
        raise InputError(f"{str(file)!r}: {error}") from error


def _archive(file: Path) -> Any:
    arrays = read_npz(file)
    name, *others = arrays or [""]
    said = name == FULL or any(letter.isdigit() for letter in name)
    return arrays if others or said or not name else arrays[name]


def _array(file: Path) -> Any:
    (array,) = read_npy(file).values()
    return array


def _inference_data(file: Path) -> Any:
    with one_sentence(file, "an ArviZ file (.nc)"):
        try:
            import arviz
        except ImportError:
            raise InputError(f"'{file}' needs ArviZ to be read: pip install 'uidd[arviz]'.") from None
        return arviz.from_netcdf(str(file))


_READERS = {".npz": _archive, ".npy": _array, ".nc": _inference_data}
