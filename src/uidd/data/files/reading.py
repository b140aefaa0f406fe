"""Files as they are: opened with care, so that nothing but one sentence comes out of a bad one."""

import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..._checks import InputError, fail


def regular_file(path: Any) -> Path:
    """`path` as a file that exists and may be read."""
    try:
        file = Path(path)
    except TypeError:
        fail("path", "the name of a file", repr(path))
    try:
        mode = file.stat().st_mode
        if stat.S_ISREG(mode):
            file.open("rb").close()
    except FileNotFoundError:
        fail("path", "a file that exists", repr(str(path)), "Check the name and the folder.")
    except PermissionError:
        fail("path", "a file that you may read", repr(str(path)), "Change its permissions.")
    except (OSError, ValueError):
        fail("path", "a file that can be opened", repr(str(path)))
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        fail("path", "a file", f"{str(path)!r}, which is {what}", "Give one file.")
    return file


@contextmanager
def one_sentence(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a library raises on a bad file into one sentence that names the file.

    The libraries raise some twenty types on damaged files, and Polars' panics are no `Exception`; so
    everything is caught, but around the call that reads and nothing else.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(
            f"`path` must be {kind} that fits into memory; got {os.fspath(path)!r}, which says it is larger."
        ) from error
    except BaseException as error:
        if not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
            raise
        raise InputError(
            f"`path` must be {kind}; got {os.fspath(path)!r}, which cannot be read as one. "
            "Check that the file is whole and that its ending says what it is."
        ) from error
