"""The compiled part of training: an epoch, and the held-out loss."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .._programs import compiled
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
    return -jnp.mean(log_densities(dynamics, likelihood, pairs))


def log_densities(
    dynamics: ComponentDynamics, likelihood: AbstractLikelihood, pairs: DevicePairs
) -> Float[Array, " n"]:
    """The log-density of every transition."""
    return jax.vmap(lambda *pair: likelihood.log_density(dynamics, *pair))(*pairs)


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

    @compiled
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
        """-(mean log-density) over all pairs, in nats a pair."""
        return -float(self.log_densities(weights, pairs).mean())

    def log_densities(self, weights: PyTree, pairs: DevicePairs) -> np.ndarray:
        """The log-density of every pair, chunk by chunk: compiled once, however many there are."""
        found = []
        for first in range(0, len(pairs.dt), CHUNK):
            chunk = DevicePairs(*(part[first : first + CHUNK] for part in pairs))
            count = len(chunk.dt)
            fill = DevicePairs(*(part[:1].repeat(CHUNK - count, axis=0) for part in pairs))
            full = DevicePairs(*map(jnp.concatenate, zip(chunk, fill, strict=True)))
            found.append(np.asarray(self._log_densities(weights, full), np.float64)[:count])
        return np.concatenate(found)

    def mapped_log_densities(self, weights: PyTree, pairs: DevicePairs) -> Float[Array, " n"]:
        """The same within a program: chunk after chunk on the device."""
        dynamics = eqx.combine(weights, self.static)
        density = self.likelihood.log_density
        return jax.lax.map(lambda pair: density(dynamics, *pair), pairs, batch_size=CHUNK)

    @compiled
    def _log_densities(self, weights: PyTree, pairs: DevicePairs) -> Float[Array, " n"]:
        return log_densities(eqx.combine(weights, self.static), self.likelihood, pairs)

    def _draw(self, pairs: DevicePairs, key: PRNGKeyArray) -> DevicePairs:
        count = len(pairs.dt)
        if count <= self.plan.batch:
            return pairs
        chosen = jax.random.randint(key, (self.plan.batch,), 0, count)
        return DevicePairs(*(part[chosen] for part in pairs))
