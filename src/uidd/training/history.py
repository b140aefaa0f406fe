"""What training reports of itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: the mean training loss in it and the held-out loss after it, in nats a pair."""

    epoch: int
    step: int
    loss: float
    held_out: float


def best_epoch(history: list[EpochRecord]) -> EpochRecord:
    """The record with the lowest held-out loss, the first of equals."""
    return min(history, key=lambda record: record.held_out)
