"""Writing files so that nothing is ever half-written."""

import contextlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from ._checks import InputError


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` beside `path`, then rename: a reader sees the old file or the whole new one."""
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"Could not write '{path}': {error.strerror or error}.") from error
    finally:  # also after Ctrl-C; once renamed there is nothing left to remove
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return path


def write_json(path: str | os.PathLike[str], value: Any) -> Path:
    """Write `value` as readable JSON, atomically. NaN and infinities, which JSON lacks, become null."""
    return write_atomically(path, json.dumps(_plain(value), indent=2, allow_nan=False).encode() + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read JSON, or say in one sentence why it cannot be read."""
    try:
        return json.loads(Path(path).read_bytes())
    except FileNotFoundError:
        raise InputError(f"There is no file '{path}'.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"'{path}' is not a readable JSON file ({error}).") from error
