"""The same model learned several times over from independent data, all at once."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled, make_room
from .._types import Result
from ..data import Scaling, Transitions
from ..likelihood import AbstractLikelihood, EulerMaruyama
from ..models import Architecture, Model
from .history import EpochRecord, best_epoch, is_better, judged
from .linear_start import fit_linear, start_from_linear
from .loop import DevicePairs, Trainer, TrainingState
from .plan import Plan
from .progress import TrainingProgress

MOST_HELD_OUT_PAIRS = 20_000
ANCHORS = 64


@dataclass(frozen=True)
class Replicas:
    """Models of the same system, each learned from a part of the data that the others did not see.

    Attributes:
        models: One a part.
        refined: The same with the best trained weights, whether they were kept or not.
        gains: In held-out nats a pair over the linear start, one a part.
        trained: Whether the networks were kept over the linear start, one a part.
        history: Losses, averaged over the parts.
        result: How the training ended.
        seconds: Wall time.
    """

    models: tuple[Model, ...]
    refined: tuple[Model, ...]
    gains: tuple[float, ...]
    trained: tuple[bool, ...]
    history: tuple[EpochRecord, ...]
    result: Result
    seconds: float

    def __len__(self) -> int:
        return len(self.models)


def fit_replicas(
    parts: Sequence[Transitions],
    *,
    seed: int = 0,
    architecture: Architecture | str = "sgld",
    likelihood: AbstractLikelihood | None = None,
    plan: Plan | None = None,
    progress: bool = False,
) -> Replicas:
    """Learn one model from each part of the data, in one program that is mapped over the parts.

    Every part has its own linear start, its own random weights and its own batches. The part after it is the
    data that it is judged by. The networks of a part stay only if they raise the likelihood there by three
    standard errors; otherwise the linear start does.

    Args:
        parts: At least two independent sets of pairs; the shortest counts.
        seed: Of weights and batches.
        architecture: The networks, or their name.
        likelihood: By default Euler-Maruyama's: one iteration of a sampler is an Euler step.
        plan: Of Adam.
        progress: Show a bar where there is a terminal.
    """
    begun = time.monotonic()
    if len(parts) < 2:
        fail("parts", "at least two sets of pairs", len(parts))
    make_room()
    architecture = Architecture.named(architecture) if isinstance(architecture, str) else architecture
    likelihood = EulerMaruyama() if likelihood is None else likelihood
    plan = Plan() if plan is None else plan
    shortest = min(len(part.dt) for part in parts)
    scaling = Scaling.of_transitions(parts)
    units = [scaling.transitions_to_unit(Transitions(*(each[:shortest] for each in part))) for part in parts]
    dimension = units[0].start.shape[1]

    def started(which: Architecture, k: int):
        build_key, start_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), k))
        linear = fit_linear(units[k], euler=isinstance(likelihood, EulerMaruyama))
        return start_from_linear(which.build(dimension, key=build_key), linear, key=start_key)

    count = len(units)
    begun_at = [started(architecture, k) for k in range(count)]
    static = eqx.partition(begun_at[0], eqx.is_array)[1]
    weights = _stacked([eqx.filter(each, eqx.is_array) for each in begun_at])
    stride = -(-shortest // MOST_HELD_OUT_PAIRS)
    pairs = _stacked([DevicePairs.of(part) for part in units])
    held_out = DevicePairs(*(jnp.roll(part[:, ::stride], -1, axis=0) for part in pairs))
    trainer = Trainer(static, likelihood, plan)
    best, history, result = _trained(trainer, weights, pairs, held_out, jax.random.key(seed + 1), progress)
    before, after = (np.asarray(_log_densities(trainer, each, held_out), np.float64) for each in (weights, best))
    gain = after - before
    keep = [bool(np.isfinite(row).all()) and is_better(row) for row in gain]

    def model(unit, which: Architecture, k: int) -> Model:
        states = units[k].start[:: max(1, shortest // ANCHORS)][:ANCHORS]
        anchors = tuple(tuple(map(float, state)) for state in scaling.to_user(states))
        names = tuple(f"z{d + 1}" for d in range(dimension))
        return Model(unit, which, scaling, anchors, names)

    refined = [model(eqx.combine(_member(best, k), static), architecture, k) for k in range(count)]
    plain = [None if keep[k] else model(started(architecture.plain, k), architecture.plain, k) for k in range(count)]
    return Replicas(
        models=tuple(own or other for own, other in zip(plain, refined, strict=True)),
        refined=tuple(refined),
        gains=tuple(float(row.mean()) for row in gain),
        trained=tuple(keep),
        history=tuple(history),
        result=result,
        seconds=time.monotonic() - begun,
    )


def _trained(trainer: Trainer, weights, pairs, held_out, key, progress: bool):
    """Epochs until the plan ends or a loss is not finite; the best weights of every part by themselves."""
    count = len(pairs.dt)
    state = _begun(trainer, weights)
    losses = -np.asarray(_log_densities(trainer, weights, held_out), np.float64).mean(axis=1)
    history = [EpochRecord(0, 0, float(losses.mean()), float(losses.mean()))]
    best, least = weights, np.full(count, np.inf)
    with TrainingProgress(trainer.plan.epochs, shown=progress) as bar:
        for epoch in range(1, trainer.plan.epochs + 1):
            keys = jax.random.split(jax.random.fold_in(key, epoch), count)
            state, seen = _epoch(trainer, state, pairs, keys)
            losses = -np.asarray(_log_densities(trainer, state.weights, held_out), np.float64).mean(axis=1)
            if not np.isfinite(losses).all():
                words = f"The loss was not finite in epoch {epoch}; the best weights before it are kept."
                return best, history, Result("not_finite", words)
            better, least = losses < least, np.minimum(losses, least)
            best = _chosen(jnp.asarray(better), state.weights, best)
            step = epoch * trainer.plan.steps_per_epoch
            history.append(EpochRecord(epoch, step, float(np.mean(seen)), float(losses.mean())))
            bar.show(history[-1])
            if epoch - best_epoch(history[1:]).epoch > trainer.plan.patience:
                break
    return best, history, judged(history)


def _stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _member(tree, k: int):
    return jax.tree.map(lambda leaf: leaf[k], tree)


@compiled
def _begun(trainer: Trainer, weights) -> TrainingState:
    return jax.vmap(trainer.begin)(weights)


@compiled
def _epoch(trainer: Trainer, state: TrainingState, pairs: DevicePairs, keys):
    return jax.vmap(trainer.epoch)(state, pairs, keys)


@compiled
def _log_densities(trainer: Trainer, weights, pairs: DevicePairs):
    return jax.vmap(trainer.mapped_log_densities)(weights, pairs)


@compiled
def _chosen(better, new, old):
    return jax.tree.map(lambda a, b: jnp.where(better.reshape(-1, *([1] * (a.ndim - 1))), a, b), new, old)
