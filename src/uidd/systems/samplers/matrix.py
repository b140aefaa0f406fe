"""Matrices from the files of collections such as SuiteSparse."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..._checks import fail

ENDINGS = (".mtx", ".mtx.gz", ".mat")


def read_matrix(path: str | PathLike[str]) -> np.ndarray:
    """The matrix of a Matrix Market (.mtx, .mtx.gz) or MATLAB (.mat) file, dense and in double precision.

    Of a MATLAB file it is `Problem.A`, where SuiteSparse puts it, or else the only matrix of numbers.

    >>> read_matrix("relat4.mat")
    Traceback (most recent call last):
    uidd._checks.InputError: `path` must be a file with a matrix; got relat4.mat. There is no such file.
    """
    path = Path(path)
    if not path.name.lower().endswith(ENDINGS):
        fail("path", f"a file that ends in one of {', '.join(ENDINGS)}", path)
    if not path.is_file():
        fail("path", "a file with a matrix", path, "There is no such file.")
    try:
        found = _matlab(path) if path.suffix.lower() == ".mat" else _matrix_market(path)
    except (
        Exception
    ) as error:  # SciPy raises a dozen kinds for a damaged file, and Problem.A may not be there
        if isinstance(error, _Several):
            fail("path", "a file with one matrix, or with Problem.A", f"{path} with {error}")
        if isinstance(error, NotImplementedError):
            fail("path", "a MATLAB file before version 7.3", path, "Save it with the option -v7.")
        fail("path", "a complete file with a matrix", path, f"It could not be read: {_first_line(error)}")
    if np.iscomplexobj(found):
        fail("path", "a file with a real matrix", path, "Its numbers are complex.")
    if found.ndim != 2 or not found.size:
        fail("path", "a file with a matrix that has rows and columns", f"{path} with shape {found.shape}")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        fail("path", "a file with finite numbers", path, f"{int((~np.isfinite(found)).sum())} are not.")
    return found


class _Several(Exception):
    """A MATLAB file with no matrix or more than one."""


def _matrix_market(path: Path) -> np.ndarray:
    import scipy.io

    rows, columns, *_ = scipy.io.mminfo(path)
    if not rows * columns:
        # SciPy's reader divides by the number of rows, and with it goes the whole process.
        return np.zeros((rows, columns))
    return _dense(scipy.io.mmread(path))


def _matlab(path: Path) -> np.ndarray:
    import scipy.io

    content = scipy.io.loadmat(path)
    if "Problem" in content:
        return _dense(content["Problem"]["A"][0, 0])
    matrices = {name: value for name, value in content.items() if _is_matrix(value)}
    if len(matrices) != 1:
        raise _Several(", ".join(matrices) or "none")
    return _dense(*matrices.values())


def _is_matrix(value: Any) -> bool:
    import scipy.sparse

    if scipy.sparse.issparse(value):
        return True
    return isinstance(value, np.ndarray) and value.ndim == 2 and np.issubdtype(value.dtype, np.number)


def _dense(matrix: Any) -> np.ndarray:
    import scipy.sparse

    return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".") + "."
