"""Training state on disk: written atomically, resumed bit for bit."""

import hashlib
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PyTree

from .._checks import InputError
from ..data import Transitions
from ..models.container import Container
from ..models.files import weights, with_weights
from .history import EpochRecord

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

    def write(self, tree: PyTree, history: list[EpochRecord], *, at_once: bool = False) -> None:
        """Save the state after the last epoch of `history`, unless the last write was a moment ago."""
        if not at_once and time.monotonic() - self.written < SECONDS_BETWEEN_WRITES:
            return
        header = {"fingerprint": self.fingerprint, "history": [asdict(record) for record in history]}
        Container("checkpoint", header, weights(tree)).write(self.path)
        self.written = time.monotonic()

    def write_raw(self, header: dict[str, Any], arrays: list[np.ndarray]) -> None:
        """Save words and arrays."""
        Container("checkpoint", {"fingerprint": self.fingerprint, "leg": header}, arrays).write(self.path)

    def read_raw(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """The saved words and arrays."""
        container = self._opened()
        return container.header["leg"], container.arrays

    def read(self, skeleton: PyTree) -> tuple[PyTree, list[EpochRecord]]:
        """The saved state and history."""
        container = self._opened()
        history = [EpochRecord(**record) for record in container.header["history"]]
        return with_weights(skeleton, container.arrays, str(self.path)), history

    def _opened(self) -> Container:
        container = Container.read(self.path, "checkpoint")
        if container.header.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"'{self.path}' belongs to other data or settings; resume with the same, or start anew."
            )
        return container
