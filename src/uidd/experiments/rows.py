"""Rows of a study on disk: one JSON file a trial, with command and environment, written as they come."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._files import read_json, write_json
from ..models import environment


@dataclass(frozen=True)
class Rows:
    """The files FOLDER/KIND/NAME.json."""

    folder: Path
    kind: str = "rows"

    def path(self, name: str) -> Path:
        """Where the row of a trial is stored."""
        return self.folder / self.kind / f"{name}.json"

    def has(self, name: str) -> bool:
        """Whether it has been measured."""
        return self.path(name).exists()

    def read(self, name: str) -> dict[str, Any]:
        """A stored row."""
        return read_json(self.path(name))

    def write(self, name: str, row: dict[str, Any], command: str) -> dict[str, Any]:
        """Store a row, and return it as it is read back."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**row, "command": command, "environment": environment()})
        return read_json(path)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (read_json(path) for path in sorted((self.folder / self.kind).glob("*.json")))
