"""The paper's sampler of independent components over batch sizes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import study
from .problems import ica


def reproduce(
    size_name: str, folder: Path, *, seed: int, report: Callable[[str], None], config: dict[str, Any]
) -> str:
    """Run, write, and return the table."""
    return study.reproduce(ica(), size_name, folder, seed=seed, report=report, config=config)
