"""The compiled part of training: an epoch, and the held-out loss."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .._types import Scalar
from ..data import Transitions
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood
from .plan import Plan


# Pairs of held-out data evaluated at once.
CHUNK = 2048


class DevicePairs(NamedTuple):
    """Transitions on the device, in unit-size coordinates and single precision."""

    start: Float[Array, "n D"]
    increment: Float[Array, "n D"]
    dt: Float[Array, " n"]

    @classmethod
    def of(cls, pairs: Transitions) -> "DevicePairs":
        """Copy to the device."""
        return cls(*(jnp.asarray(part, jnp.result_type(float)) for part in pairs))


def mean_loss(dynamics: ComponentDynamics, likelihood: AbstractLikelihood, pairs: DevicePairs) -> Scalar:
    """-(mean log-density of the transitions), in nats a pair."""
    log_densities = jax.vmap(lambda *pair: likelihood.log_density(dynamics, *pair))(*pairs)
    return -jnp.mean(log_densities)


class TrainingState(NamedTuple):
    """What a step changes."""

    weights: PyTree
    optimiser: PyTree


class Trainer(eqx.Module):
    """An epoch and a held-out loss for given networks, likelihood and plan.

    Each is compiled once, and not again for other data of the same size: all fields are static and
    compare by value.
    """

    static: PyTree = eqx.field(static=True)
    likelihood: AbstractLikelihood
    plan: Plan = eqx.field(static=True)

    def begin(self, weights: PyTree) -> TrainingState:
        """The state before the first step."""
        return TrainingState(weights, self.plan.optimiser().init(weights))

    @eqx.filter_jit
    def epoch(
        self, state: TrainingState, pairs: DevicePairs, key: PRNGKeyArray
    ) -> tuple[TrainingState, Float[Array, " steps"]]:
        """`plan.steps_per_epoch` optimiser steps in one loop on the device; returns every step's loss."""
        adam = self.plan.optimiser()

        def loss(weights, batch):
            return mean_loss(eqx.combine(weights, self.static), self.likelihood, batch)

        def step(state, step_key):
            batch = self._draw(pairs, step_key)
            value, gradient = jax.value_and_grad(loss)(state.weights, batch)
            updates, optimiser = adam.update(gradient, state.optimiser, state.weights)
            return TrainingState(optax.apply_updates(state.weights, updates), optimiser), value

        return jax.lax.scan(step, state, jax.random.split(key, self.plan.steps_per_epoch))

    def held_out_loss(self, weights: PyTree, pairs: DevicePairs) -> float:
        """The mean loss over all pairs, chunk by chunk: compiled once, however many there are."""
        count = len(pairs.dt)
        total = 0.0
        for first in range(0, count, CHUNK):
            chunk = DevicePairs(*(part[first : first + CHUNK] for part in pairs))
            missing = CHUNK - len(chunk.dt)
            if missing:  # filled up with pairs that count for nothing
                chunk = DevicePairs(
                    *(
                        jnp.concatenate([c, p[:1].repeat(missing, 0)])
                        for c, p in zip(chunk, pairs, strict=True)
                    )
                )
            total += float(self._summed_loss(weights, chunk, jnp.asarray(CHUNK - missing)))
        return total / count

    @eqx.filter_jit
    def _summed_loss(self, weights: PyTree, pairs: DevicePairs, counted: Int[Array, ""]) -> Scalar:
        dynamics = eqx.combine(weights, self.static)
        log_densities = jax.vmap(lambda *pair: self.likelihood.log_density(dynamics, *pair))(*pairs)
        return -jnp.sum(jnp.where(jnp.arange(CHUNK) < counted, log_densities, 0.0))

    def _draw(self, pairs: DevicePairs, key: PRNGKeyArray) -> DevicePairs:
        count = len(pairs.dt)
        if count <= self.plan.batch:
            return pairs
        chosen = jax.random.randint(key, (self.plan.batch,), 0, count)
        return DevicePairs(*(part[chosen] for part in pairs))
