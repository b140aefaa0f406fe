"""From trajectories to a model."""

import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from .._checks import fail
from .._types import Result
from ..data import Scaling, Trajectories
from ..likelihood import AbstractLikelihood, EulerMaruyama
from ..models import Architecture, Model
from ..models.architecture import Circulation
from .checkpoint import CheckpointFile, fingerprint
from .history import EpochRecord, best_epoch, has_stalled, is_better, judged
from .linear_start import fit_linear, start_from_linear
from .loop import DevicePairs, Trainer
from .plan import Plan
from .progress import TrainingProgress

MOST_HELD_OUT_PAIRS = 50_000
ANCHORS = 64


@dataclass(frozen=True)
class Fit:
    """A trained model and how it came about.

    Attributes:
        model: In the user's coordinates and time unit, with the best held-out weights.
        history: One record an epoch; the first is the linear start.
        result: `ok`, `still_improving`, `interrupted` or `not_finite`.
        seconds: Wall time of the training.
        test_loss: -(mean log-density) of transitions that took no part in training, in nats a pair and
            in the units inside (unit-size coordinates), comparable between fits of the same data.
        start: How the linear start went.
        kept: The epoch whose weights `model` has. Epoch 0, the linear start, stays unless the networks beat
            its held-out likelihood by three standard errors: what data do not call for is noise.
        refined: The model with the best trained weights, whether they were kept or not.
        test: The trajectories that took no part.
        total_time: The observed time in the training part.
    """

    model: Model
    history: tuple[EpochRecord, ...]
    result: Result
    seconds: float
    test_loss: float
    start: Result
    kept: EpochRecord
    refined: Model
    test: Trajectories
    total_time: float

    def __repr__(self) -> str:
        epochs = f"{self.history[-1].epoch} epochs, kept {self.kept.epoch}"
        return f"Fit({self.result}; {epochs}; {self.seconds:.0f} s)"


def fit(
    data: Trajectories,
    *,
    seed: int = 0,
    architecture: Architecture | str = "default",
    circulation: Circulation | None = None,
    likelihood: AbstractLikelihood | None = None,
    plan: Plan | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Learn V, sigma and W from trajectories by maximum likelihood.

    The data are split by trajectory into training, validation and test parts (80, 10, 10 %), scaled
    to unit size, and the networks start from the best linear model in closed form.

    Args:
        data: The trajectories.
        seed: Of the split, the weights and the batches. The same seed gives the same model.
        architecture: The networks; `default` or one of the paper's `linear`, `polymer`, `sgld`.
        circulation: Replaces the architecture's W.
        likelihood: The transition density; `EulerMaruyama()` by default.
        plan: Steps, batch and learning rate.
        checkpoint: A file that is kept up to date during training.
        resume: Go on from that file. The end is bit for bit that of an unbroken run.
        progress: Show a progress bar where there is a terminal.
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Use uidd.Trajectories.from_arrays(x, dt=...).")
    if not isinstance(architecture, Architecture | str):
        fail("architecture", "an Architecture or its name", repr(architecture))
    if plan is not None and not isinstance(plan, Plan):
        fail("plan", "a Plan", repr(plan), "Use uidd.Plan(steps=...).")
    if resume and checkpoint is None:
        fail("checkpoint", "given with `resume`", "none", "Name the file to go on from.")
    begun = time.monotonic()
    architecture = Architecture.named(architecture) if isinstance(architecture, str) else architecture
    if circulation is not None:
        architecture = replace(architecture, circulation=circulation)
    likelihood = EulerMaruyama() if likelihood is None else likelihood
    plan = Plan() if plan is None else plan

    train, validation, test = data.split(seed=seed)
    scaling = Scaling.of(train)
    pairs = scaling.transitions_to_unit(train.transitions())
    build_key, start_key, epoch_key = jax.random.split(jax.random.key(seed), 3)
    linear = fit_linear(pairs)
    dynamics = start_from_linear(architecture.build(data.dimension, key=build_key), linear, key=start_key)
    weights, static = eqx.partition(dynamics, eqx.is_array)
    trainer = Trainer(static, likelihood, plan)

    def on_device(part: Trajectories) -> DevicePairs:
        return DevicePairs.of(_thinned(scaling.transitions_to_unit(part.transitions())))

    held_out = on_device(validation)
    file = None
    if checkpoint is not None:
        settings = (seed, architecture, repr(likelihood), plan)
        file = CheckpointFile(Path(checkpoint), fingerprint(data.transitions(), *settings))
    trained, history, result = _train(
        trainer,
        trainer.begin(weights),
        DevicePairs.of(pairs),
        held_out,
        plan=plan,
        key=epoch_key,
        file=file,
        resume=resume,
        progress=progress,
    )
    refined = Model(
        unit=eqx.combine(trained, static),
        architecture=architecture,
        scaling=scaling,
        anchors=_anchors(train, seed),
        coordinates=data.coordinates,
        units=data.units,
        time_unit=data.time_unit,
    )
    gain = trainer.log_densities(trained, held_out) - trainer.log_densities(weights, held_out)
    left = is_better(gain)
    return Fit(
        model=refined if left else eqx.tree_at(lambda m: m.unit, refined, dynamics),
        history=tuple(history),
        result=result,
        seconds=time.monotonic() - begun,
        test_loss=trainer.held_out_loss(trained if left else weights, on_device(test)),
        start=linear.result,
        kept=best_epoch(history[1:]) if left else history[0],
        refined=refined,
        test=test,
        total_time=train.total_time,
    )


def _train(trainer, state, pairs, held_out_pairs, *, plan, key, file, resume, progress):
    """Epochs until the plan ends, the held-out loss stops falling, a loss is not finite, or Ctrl-C.

    Returns the best of the trained weights, the history and how it ended.
    """
    first = trainer.held_out_loss(state.weights, held_out_pairs)
    history = [EpochRecord(0, 0, first, first)]
    if not math.isfinite(first):
        words = "The held-out likelihood of the linear start is not finite; look for outliers in the data."
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


def _thinned(pairs):
    """At most `MOST_HELD_OUT_PAIRS` evenly spaced pairs: enough for the fourth digit of a mean."""
    stride = max(1, len(pairs.dt) // MOST_HELD_OUT_PAIRS)
    return type(pairs)(*(part[::stride] for part in pairs))


def _anchors(data: Trajectories, seed: int) -> tuple[tuple[float, ...], ...]:
    """States from the later halves of the paths, which are nearer to stationarity."""
    late = np.concatenate([s[len(s) // 2 :] for s in data.states])
    chosen = np.random.default_rng(seed).choice(len(late), size=min(ANCHORS, len(late)), replace=False)
    return tuple(tuple(map(float, late[i])) for i in chosen)
