"""Trials with arrays on disk: a NumPy archive of words, numbers and arrays."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import InputError
from .._files import write_atomically


def write_archive(path: Path, words: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write atomically."""
    content = io.BytesIO()
    np.savez_compressed(content, words=np.array(json.dumps(words)), **arrays)
    write_atomically(path, content.getvalue())


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_archive` wrote; anything wrong is one sentence."""
    try:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files if name != "words"}
            return json.loads(str(archive["words"])), arrays
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{path}' is not a readable trial ({error}). Remove it.") from error
