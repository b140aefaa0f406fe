"""The state of a run on disk: written atomically, resumed bit for bit."""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import InputError
from ..data import Transitions
from ..models.container import Container

# Writing takes milliseconds; more often than this would only wear the disk.
SECONDS_BETWEEN_WRITES = 2.0


def fingerprint(pairs: Transitions, *settings: object) -> str:
    """Identifies data and settings: a run may be resumed only with the same."""
    digest = hashlib.sha256(repr(settings).encode())
    for part in pairs:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


@dataclass
class CheckpointFile:
    """One checkpoint file, overwritten as training goes on."""

    path: Path
    fingerprint: str
    written: float = 0.0

    def write(self, header: dict[str, Any], arrays: list[np.ndarray], *, at_once: bool = False) -> None:
        """Save words, numbers and arrays, unless the last write was a moment ago."""
        if not at_once and time.monotonic() - self.written < SECONDS_BETWEEN_WRITES:
            return
        Container("checkpoint", {"fingerprint": self.fingerprint, "state": header}, arrays).write(self.path)
        self.written = time.monotonic()

    def read(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """What was saved last."""
        container = Container.read(self.path, "checkpoint")
        if container.header.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"'{self.path}' belongs to other data or settings; resume with the same, or start anew."
            )
        return container.header["state"], container.arrays
