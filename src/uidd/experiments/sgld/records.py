"""What is stored of a study of batch sizes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..archive import read_archive, write_archive

# How often values are drawn anew from their errors, to see what a rank correlation is worth.
DRAWS = 2_000


@dataclass(frozen=True)
class BatchStudy:
    """One batch size.

    Attributes:
        batch_size: None for all data.
        seed: Of the whole study.
        figures: Plain numbers: `rate`, the entropy production from products of independent models, with its
            error; `circulation_rate`, from what W has learned alone, and its plug-in, from squares; `exact`,
            of the equation that the sampler stands for; `limit`, of its small-step limit where that is known
            in closed form; the same of the relative Fisher information (`fisher`, ...); `to_full` and
            `to_half`, squared MMDs: unbiased, its error, and biased; features, gains, seconds.
        states: Some stationary states.
        paths: Mean paths and losses, true and predicted, where they were followed.
    """

    batch_size: int | None
    seed: int
    figures: dict[str, Any]
    states: np.ndarray
    paths: dict[str, np.ndarray] = field(default_factory=dict)

    def write(self, path: Path, made_by: dict[str, Any]) -> None:
        """As a NumPy archive."""
        words = {
            "batch_size": self.batch_size,
            "seed": self.seed,
            "figures": self.figures,
            "made_by": made_by,
        }
        paths = {f"path {name}": values for name, values in self.paths.items()}
        write_archive(path, words, {"states": self.states.astype(np.float32), **paths})

    @classmethod
    def read(cls, path: Path) -> tuple["BatchStudy", dict[str, Any]]:
        """What `write` wrote, and what it was made by."""
        words, arrays = read_archive(path)
        paths = {name[5:]: values for name, values in arrays.items() if name.startswith("path ")}
        study = cls(words["batch_size"], words["seed"], words["figures"], arrays["states"], paths)
        return study, words["made_by"]


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation of two measured curves.

    Attributes:
        value: Of the curves as they are.
        low: What it falls to, in one of twenty cases, when every value is drawn anew from its error: curves
            that end in noise have ranks there, too.
        high: What it rises to, in one of twenty.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, x: np.ndarray, x_error: np.ndarray, y: np.ndarray, y_error: np.ndarray) -> "RankCorrelation":
        """With the errors of both."""
        generator = np.random.default_rng(0)

        def correlation(x: np.ndarray, y: np.ndarray) -> float:
            return float(np.asarray(spearmanr(x, y))[0])

        drawn = [
            correlation(generator.normal(x, x_error), generator.normal(y, y_error)) for _ in range(DRAWS)
        ]
        low, high = np.quantile(drawn, [0.05, 0.95])
        return cls(correlation(x, y), float(low), float(high))

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Comparison:
    """What the batch sizes show together.

    Attributes:
        rate_with_discrepancy: Rank correlation of entropy production and squared MMD to the full batch.
        half_with_discrepancy: Of the squared MMD between b and b / 2, and that to the full batch.
        separation: Between b = 1 and b = 64, in standard errors of the entropy production.
    """

    rate_with_discrepancy: RankCorrelation
    half_with_discrepancy: RankCorrelation
    separation: float


def compare(studies: list[BatchStudy]) -> Comparison:
    """Rank correlations over the mini-batches, and how far apart the first and the last of them are."""
    some = [study.figures for study in studies if study.batch_size is not None]
    rate, error = np.array([(each["rate"], each["rate_error"]) for each in some]).T
    full, full_error, _ = np.array([each["to_full"] for each in some]).T
    half, half_error, _ = np.array([each["to_half"] for each in some[1:]]).T
    return Comparison(
        RankCorrelation.of(rate, error, full, full_error),
        RankCorrelation.of(half, half_error, full[1:], full_error[1:]),
        float((rate[0] - rate[-1]) / np.hypot(error[0], error[-1])),
    )
