"""The file format of models and checkpoints: two lines of text, then arrays. No pickle.

uidd 1 <sha256 of everything that follows the first line>
{"kind": "model", ..., "arrays": [[shape, dtype], ...]}
<the arrays' bytes, one behind another, little endian>
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import InputError
from .._files import write_atomically

FORMAT_VERSION = 1
_DTYPES = {"float32", "float64", "int32", "int64", "uint32", "bool"}


@dataclass(frozen=True)
class Container:
    """A header of plain words and numbers, and arrays."""

    kind: str
    header: dict[str, Any]
    arrays: list[np.ndarray]

    def write(self, path: str | Path) -> Path:
        """Write atomically."""
        described = [[list(a.shape), str(a.dtype)] for a in self.arrays]
        head = json.dumps({"kind": self.kind, **self.header, "arrays": described}, allow_nan=False).encode()
        body = b"".join(
            np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes() for a in self.arrays
        )
        content = head + b"\n" + body
        first = f"uidd {FORMAT_VERSION} {hashlib.sha256(content).hexdigest()}\n".encode()
        return write_atomically(path, first + content)

    @classmethod
    def read(cls, path: str | Path, kind: str) -> "Container":
        """Read and check; anything wrong is one sentence."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            raise InputError(f"There is no file '{path}'.") from None
        except OSError as error:
            raise InputError(f"Could not read '{path}': {error.strerror}.") from error
        first, _, content = content.partition(b"\n")
        words = first.split()
        if len(words) != 3 or words[0] != b"uidd" or not words[1].isdigit():
            raise InputError(f"'{path}' is not a uidd file.")
        version = int(words[1][:9])
        if version < 1:
            raise InputError(f"'{path}' is not a uidd file.")
        if version > FORMAT_VERSION:
            raise InputError(
                f"'{path}' has format {version}; this uidd reads up to {FORMAT_VERSION}. Upgrade it."
            )
        if hashlib.sha256(content).hexdigest().encode() != words[2]:
            raise InputError(f"'{path}' is damaged: it was cut short or changed after it was written.")
        try:
            return cls._parse(content, path, kind)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise InputError(f"'{path}' is not a well-formed uidd file ({error}).") from error

    @classmethod
    def _parse(cls, content: bytes, path: str | Path, kind: str) -> "Container":
        head, _, body = content.partition(b"\n")
        header = json.loads(head)
        found = header.pop("kind")
        if found != kind:
            raise InputError(f"'{path}' holds a {found}, not a {kind}.")
        arrays, offset = [], 0
        for shape, dtype in header.pop("arrays"):
            if dtype not in _DTYPES:
                raise ValueError(f"unknown array type {dtype}")
            count = math.prod(shape)
            kindly = np.dtype(dtype).newbyteorder("<")
            array = np.frombuffer(body, kindly, count, offset).reshape(shape).astype(dtype)
            offset += array.nbytes
            arrays.append(array)
        return cls(kind, header, arrays)
