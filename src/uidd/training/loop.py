"""The compiled part of training: an epoch, and the held-out loss."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .._types import Scalar
from ..data import Transitions
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood


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
    """An epoch and a held-out loss for given networks, likelihood and plan; each is compiled once."""

    static: PyTree = eqx.field(static=True)
    likelihood: AbstractLikelihood
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @eqx.filter_jit
    def epoch(
        self, state: TrainingState, pairs: DevicePairs, key: PRNGKeyArray
    ) -> tuple[TrainingState, Float[Array, " steps"]]:
        """`steps` optimiser steps in one loop on the device; returns every step's loss."""

        def loss(weights, batch):
            return mean_loss(eqx.combine(weights, self.static), self.likelihood, batch)

        def step(state, step_key):
            batch = self._draw(pairs, step_key)
            value, gradient = jax.value_and_grad(loss)(state.weights, batch)
            updates, optimiser = self.optimiser.update(gradient, state.optimiser, state.weights)
            return TrainingState(optax.apply_updates(state.weights, updates), optimiser), value

        return jax.lax.scan(step, state, jax.random.split(key, self.steps))

    @eqx.filter_jit
    def held_out_loss(self, weights: PyTree, pairs: DevicePairs) -> Scalar:
        """The mean loss over all pairs, in chunks that fit the cache."""
        dynamics = eqx.combine(weights, self.static)
        log_densities = jax.lax.map(
            lambda pair: self.likelihood.log_density(dynamics, *pair), pairs, batch_size=2048
        )
        return -jnp.mean(log_densities)

    def _draw(self, pairs: DevicePairs, key: PRNGKeyArray) -> DevicePairs:
        count = len(pairs.dt)
        if count <= self.batch:
            return pairs
        chosen = jax.random.randint(key, (self.batch,), 0, count)
        return DevicePairs(*(part[chosen] for part in pairs))
