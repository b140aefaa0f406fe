"""What training reports of itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Result

# Of the held-out pairs, whose means are compared.
STRETCHES = 32


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: the mean training loss in it and the held-out loss after it, in nats a pair.

    Epoch 0 is the linear start.
    """

    epoch: int
    step: int
    loss: float
    held_out: float


def best_epoch(history: Sequence[EpochRecord]) -> EpochRecord:
    """The record with the lowest held-out loss, the first of equals."""
    return min(history, key=lambda record: record.held_out)


def has_stalled(history: Sequence[EpochRecord], patience: int) -> bool:
    """Whether more than `patience` epochs have passed since the best one.

    The start does not count: at a high learning rate networks stay behind a good linear start for a
    while, and overtake it only as the rate falls.
    """
    trained = history[1:]
    return bool(trained) and trained[-1].epoch - best_epoch(trained).epoch > patience


def is_better(gain: np.ndarray) -> bool:
    """Whether held-out log-densities, given in the order of time, rose by three standard errors.

    Pairs of one path are not independent: where a model is better it stays so for a while. So the error is
    that of the means of long stretches.
    """
    means = np.array([part.mean() for part in np.array_split(gain, min(STRETCHES, len(gain)))])
    return bool(means.mean() > 3 * means.std(ddof=1) / len(means) ** 0.5)


def judged(history: Sequence[EpochRecord]) -> Result:
    """Whether the last fifth of the epochs still brought a good part of what was gained."""
    early = history[: max(1, len(history) * 4 // 5)]
    gained = history[0].held_out - best_epoch(history).held_out
    late = best_epoch(early).held_out - best_epoch(history).held_out
    if late > max(0.05 * gained, 1e-3):
        return Result("still_improving", "The held-out likelihood was still improving; give more steps.")
    return Result()
