"""Training of all weights by Adam: for networks whose hidden layers have to be learned."""

import math

import jax

from .._types import Result
from .checkpoint import CheckpointFile
from .history import EpochRecord, best_epoch, has_stalled, judged
from .loop import DevicePairs, Trainer, TrainingState
from .plan import Plan
from .progress import TrainingProgress


def train_hidden_layers(
    trainer: Trainer,
    state: TrainingState,
    pairs: DevicePairs,
    held_out_pairs: DevicePairs,
    *,
    plan: Plan,
    key: jax.Array,
    file: CheckpointFile | None,
    resume: bool,
    progress: bool,
):
    """Epochs until the plan ends, the held-out loss stops falling, a loss is not finite, or Ctrl-C.

    Returns the best of the trained weights, the history and how it ended.
    """
    first = trainer.held_out_loss(state.weights, held_out_pairs)
    history = [EpochRecord(0, 0, first, first)]
    if not math.isfinite(first):
        words = "The held-out likelihood at the start is not finite; look for outliers in the data."
        return state.weights, history, Result("not_finite", words)
    best = state.weights
    if file is not None and resume and file.path.exists():
        (state, best), history = file.read((state, best))
    stopped = None
    with TrainingProgress(plan.epochs, shown=progress) as bar:
        try:
            for epoch in range(history[-1].epoch + 1, plan.epochs + 1):
                if has_stalled(history, plan.patience):
                    break
                new, losses = trainer.epoch(state, pairs, jax.random.fold_in(key, epoch))
                held_out = trainer.held_out_loss(new.weights, held_out_pairs)
                loss = float(losses.mean())
                if not (math.isfinite(loss) and math.isfinite(held_out)):
                    words = f"The loss was not finite in epoch {epoch}; the best weights before it are kept. "
                    stopped = Result(
                        "not_finite", words + "Use a smaller learning rate or look for outliers."
                    )
                    break
                longer = [*history, EpochRecord(epoch, epoch * plan.steps_per_epoch, loss, held_out)]
                better = new.weights if best_epoch(longer[1:]).epoch == epoch else best
                # In one assignment: Ctrl-C finds state, best weights and history of the same epoch.
                state, best, history = new, better, longer
                bar.show(history[-1])
                if file is not None:
                    file.write((state, best), history)
        except KeyboardInterrupt:
            stopped = Result("interrupted", f"Interrupted after epoch {history[-1].epoch} of {plan.epochs}.")
    if file is not None:
        file.write((state, best), history, at_once=True)
    return best, history, stopped or judged(history)
