"""Adam on an objective: epochs of one model, or of several side by side."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..._programs import compiled
from ...data import Transitions
from ..objectives import AbstractObjective
from .plan import Plan


class Examples(NamedTuple):
    """Transitions on the device, in unit-size coordinates and single precision."""

    start: Float[Array, "n D"]
    increment: Float[Array, "n D"]
    dt: Float[Array, " n"]

    @classmethod
    def of(cls, pairs: Transitions) -> "Examples":
        """Copy to the device."""
        return cls(*(jnp.asarray(part, jnp.result_type(float)) for part in pairs))


class AdamState(NamedTuple):
    """What a step changes."""

    weights: PyTree
    optimiser: PyTree


class Adam(eqx.Module):
    """Epochs of Adam, and losses, for a given objective and plan.

    A model comes as its weights, which learn, and the frozen rest. Everything is compiled once, and not
    again for other data of the same size.
    """

    objective: AbstractObjective
    plan: Plan = eqx.field(static=True)
    # Examples whose losses are evaluated at once.
    chunk: int = eqx.field(static=True, default=2048)

    def begin(self, weights: PyTree) -> AdamState:
        """The state before the first step."""
        return AdamState(weights, self.plan.optimiser().init(weights))

    def epoch(
        self, frozen: PyTree, state: AdamState, examples: tuple[Array, ...], key: PRNGKeyArray
    ) -> tuple[AdamState, Float[Array, " steps"]]:
        """`plan.steps_per_epoch` optimiser steps in one loop on the device; returns every step's loss."""
        return _epoch.one(self, frozen, state, examples, key)

    def losses(self, weights: PyTree, frozen: PyTree, examples: tuple[Array, ...]) -> np.ndarray:
        """The loss of every example, chunk by chunk: compiled once, however many there are."""
        found = []
        for first in range(0, len(examples[0]), self.chunk):
            chunk = tuple(part[first : first + self.chunk] for part in examples)
            count = len(chunk[0])
            fill = (part[:1].repeat(self.chunk - count, axis=0) for part in examples)
            full = tuple(map(jnp.concatenate, zip(chunk, fill, strict=True)))
            found.append(np.asarray(_losses_of_chunk(self, weights, frozen, full), np.float64)[:count])
        return np.concatenate(found)

    def train_all(
        self, models: PyTree, examples: tuple[Array, ...], held_out: tuple[Array, ...], key: PRNGKeyArray
    ) -> tuple[PyTree, np.ndarray]:
        """Several models at once, each with its own examples, for as long as the plan says.

        Not the best by held-out data: a choice would pull what is small towards where it began, and products
        of independent models are free of noise but not of such a pull.

        Args:
            models: Stacked, one behind the other.
            examples: Arrays whose first axis counts models and whose second counts examples.
            held_out: The same, to judge by.
            key: Of the batches.

        Returns:
            The last weights of every model whose loss was finite, and the mean held-out loss after every
            epoch, one column a model.
        """
        weights, frozen = eqx.partition(models, self.objective.trainable(models))
        state = _begun(self, weights)
        history = [self.losses_of_all(weights, frozen, held_out).mean(axis=1)]
        for epoch in range(self.plan.epochs):
            keys = jax.random.split(jax.random.fold_in(key, epoch), len(examples[0]))
            state, _ = _epoch(self, frozen, state, examples, keys)
            history.append(self.losses_of_all(state.weights, frozen, held_out).mean(axis=1))
            finite = np.isfinite(history[-1])
            if not finite.any():
                break
            weights = state.weights if finite.all() else _where(finite, state.weights, weights)
            state = AdamState(weights, state.optimiser)
        return eqx.combine(weights, frozen), np.stack(history)

    def losses_of_all(
        self, weights: PyTree, frozen: PyTree, examples: tuple[Array, ...]
    ) -> Float[np.ndarray, "k n"]:
        """The loss of every example of every model."""
        return np.asarray(_losses(self, weights, frozen, examples), np.float64)


class EachModel:
    """A function of an `Adam` and one model, for all models.

    Mapped where a device runs them side by side. A CPU's batched matrix products are ten times slower than
    plain ones; there they run one after the other, by one program.
    """

    def __init__(self, function: Callable[..., PyTree]):
        self.one = compiled(function)
        self.all = compiled(lambda adam, *trees: eqx.filter_vmap(partial(function, adam))(*trees))

    def __call__(self, adam: Adam, *trees: PyTree) -> PyTree:
        """Of all models, stacked."""
        if jax.default_backend() != "cpu":
            return self.all(adam, *trees)
        count = len(jax.tree.leaves(trees)[0])
        return stacked([self.one(adam, *(member(tree, k) for tree in trees)) for k in range(count)])


def stacked(trees: Sequence[PyTree]) -> PyTree:
    """Models behind one another: every array gets a first axis that counts them."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *trees)


def member(tree: PyTree, k: int) -> PyTree:
    """One of what `stacked` put together."""
    return jax.tree.map(lambda leaf: leaf[k] if eqx.is_array(leaf) else leaf, tree)


def _where(chosen: np.ndarray, some: PyTree, others: PyTree) -> PyTree:
    """Model by model one of two."""
    return stacked([member(some if own else others, k) for k, own in enumerate(chosen)])


@EachModel
def _begun(adam: Adam, weights):
    return adam.begin(weights)


@EachModel
def _epoch(adam: Adam, frozen, state: AdamState, examples, key):
    plan, count = adam.plan, len(examples[0])
    optimiser = plan.optimiser()

    def loss(weights, batch):
        dynamics = eqx.combine(weights, frozen)
        return jnp.mean(jax.vmap(lambda *each: adam.objective.loss(dynamics, *each))(*batch))

    def drawn(key):
        if count <= plan.batch:
            return examples
        chosen = jax.random.randint(key, (plan.batch,), 0, count)
        return tuple(part[chosen] for part in examples)

    def step(state, step_key):
        value, gradient = jax.value_and_grad(loss)(state.weights, drawn(step_key))
        updates, moments = optimiser.update(gradient, state.optimiser, state.weights)
        return AdamState(optax.apply_updates(state.weights, updates), moments), value

    return jax.lax.scan(step, state, jax.random.split(key, plan.steps_per_epoch))


@EachModel
def _losses(adam: Adam, weights, frozen, examples):
    dynamics = eqx.combine(weights, frozen)
    return jax.lax.map(lambda each: adam.objective.loss(dynamics, *each), examples, batch_size=adam.chunk)


@compiled
def _losses_of_chunk(adam: Adam, weights, frozen, examples):
    dynamics = eqx.combine(weights, frozen)
    return jax.vmap(lambda *each: adam.objective.loss(dynamics, *each))(*examples)
