"""All weights by Adam, until held-out data gain no more."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from .._types import Result
from ..models.files import weights as arrays_of
from ..models.files import with_weights
from .driver import AbstractRun
from .history import EpochRecord, best_epoch, has_stalled, judged
from .solvers.adam import Adam, AdamState, Examples


@dataclass(frozen=True)
class Epoch:
    """Where a run of Adam stands after an epoch.

    Attributes:
        state: Weights and moments.
        best: The trained weights with the lowest held-out loss.
        history: A record an epoch, the first of them the start.
        failed: Why it cannot go on.
    """

    state: AdamState
    best: PyTree
    history: tuple[EpochRecord, ...]
    failed: Result | None = None


class Epochs(AbstractRun[Epoch]):
    """Epochs until the plan ends, the held-out loss stops falling, or a loss is not finite.

    Args:
        adam: Objective and plan.
        dynamics: The model, at its start.
        examples: What it learns from.
        held_out: What it is judged by.
        key: Of the batches.
    """

    def __init__(self, adam: Adam, dynamics: PyTree, examples: Examples, held_out: Examples, key: jax.Array):
        self.adam, self.examples, self.held_out, self.key = adam, examples, held_out, key
        self.weights, self.frozen = eqx.partition(dynamics, adam.objective.trainable(dynamics))

    def loss(self, weights: PyTree) -> float:
        """The mean over held-out examples."""
        return float(self.adam.losses(weights, self.frozen, self.held_out).mean())

    def gain(self, weights: PyTree) -> np.ndarray:
        """By how much the loss of every held-out example is smaller than it was at the start."""
        before, after = (
            self.adam.losses(each, self.frozen, self.held_out) for each in (self.weights, weights)
        )
        return before - after

    def trained(self, epoch: Epoch) -> PyTree:
        """The model with the best weights."""
        return eqx.combine(epoch.best, self.frozen)

    def result(self, epoch: Epoch) -> Result:
        """How it ended."""
        return epoch.failed or judged(epoch.history)

    @property
    def most_steps(self) -> int:
        """Epochs of the plan."""
        return self.adam.plan.epochs

    def begin(self) -> Epoch:
        """The weights as they are."""
        first, failed = self.loss(self.weights), None
        if not math.isfinite(first):
            words = "The held-out likelihood at the start is not finite; look for outliers in the data."
            failed = Result("not_finite", words)
        record = EpochRecord(0, 0, first, first)
        return Epoch(self.adam.begin(self.weights), self.weights, (record,), failed)

    def advance(self, state: Epoch) -> Epoch:
        """One more epoch."""
        number = state.history[-1].epoch + 1
        key = jax.random.fold_in(self.key, number)
        new, losses = self.adam.epoch(self.frozen, state.state, self.examples, key)
        held_out, loss = self.loss(new.weights), float(losses.mean())
        if not (math.isfinite(loss) and math.isfinite(held_out)):
            words = f"The loss was not finite in epoch {number}; the best weights before it are kept. "
            words += "Use a smaller learning rate or look for outliers."
            return Epoch(state.state, state.best, state.history, Result("not_finite", words))
        record = EpochRecord(number, number * self.adam.plan.steps_per_epoch, loss, held_out)
        history = (*state.history, record)
        best = new.weights if best_epoch(history[1:]).epoch == number else state.best
        return Epoch(new, best, history)

    def is_done(self, state: Epoch) -> bool:
        """Whether it failed, the plan has ended, or nothing is gained any more."""
        ended = state.history[-1].epoch >= self.most_steps
        return state.failed is not None or ended or has_stalled(state.history, self.adam.plan.patience)

    def record(self, state: Epoch) -> EpochRecord:
        """The last."""
        return state.history[-1]

    def place(self, state: Epoch) -> str:
        """By its number."""
        return f"after epoch {state.history[-1].epoch} of {self.most_steps}"

    def to_container(self, state: Epoch) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Records; weights, moments and best weights."""
        return {"history": [asdict(r) for r in state.history]}, arrays_of((state.state, state.best))

    def from_container(self, header: dict[str, Any], arrays: list[np.ndarray]) -> Epoch:
        """The inverse."""
        skeleton = self.adam.begin(self.weights), self.weights
        state, best = with_weights(skeleton, arrays, "the checkpoint")
        return Epoch(state, best, tuple(EpochRecord(**record) for record in header["history"]))
