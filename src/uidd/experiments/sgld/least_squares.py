"""The paper's least-squares sampler over batch sizes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...systems import read_matrix
from . import study
from .problems import least_squares


def reproduce(
    size_name: str,
    folder: Path,
    *,
    seed: int,
    report: Callable[[str], None],
    config: dict[str, Any],
    matrix: str | None = None,
) -> str:
    """Run, write, and return the table."""
    problem = least_squares(None if matrix is None else read_matrix(matrix))
    return study.reproduce(problem, size_name, folder, seed=seed, report=report, config=config)
