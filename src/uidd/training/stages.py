"""What is minimised when V, sigma and W are learned one after the other."""

import abc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .._programs import compiled
from .._types import Matrix, Scalar, State
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood
from .plan import Plan


class AbstractStage(eqx.Module):
    """A mean of losses over examples, and the component that it is minimised over.

    Attributes:
        component: The name of the component that learns; None for all of them.
    """

    component: ClassVar[str | None]

    @abc.abstractmethod
    def loss(self, dynamics: ComponentDynamics, *example: Any, **named: Any) -> Scalar:
        """Of one example."""

    def trainable(self, dynamics: ComponentDynamics) -> PyTree:
        """Which leaves learn."""
        name = self.component
        if name is None:
            return jax.tree.map(eqx.is_array, dynamics)
        nothing = jax.tree.map(lambda _: False, dynamics)
        own = jax.tree.map(eqx.is_array, getattr(dynamics, name))
        return eqx.tree_at(lambda d: getattr(d, name), nothing, own)


class NoiseStage(AbstractStage):
    """|sigma - sigma_0|^2 for a known field sigma_0."""

    component = "diffusion_component"

    def loss(self, dynamics: ComponentDynamics, z: State, sigma: Matrix) -> Scalar:
        """At a state."""
        return jnp.sum((dynamics.diffusion(z) - sigma) ** 2)


class PotentialStage(AbstractStage):
    """|f - div M + M grad V|^2 in the metric M^-1; over all V, -log of the stationary density minimises it.

    With f = -M grad V + div M + f_irr what is squared is f_irr + M grad(V' - V), and f_irr is orthogonal to
    all M grad phi. Nothing random is left in it, so V is found as exactly as f and M are known.
    """

    component = "potential_component"

    def loss(self, dynamics: ComponentDynamics, z: State, pull: State, root: Matrix) -> Scalar:
        """At a state, with M = root root^T and pull = root^-1 (f - div M)."""
        return jnp.sum((pull + dynamics.potential_gradient(z) @ root) ** 2)


class CirculationStage(AbstractStage):
    """|div W - W grad V - f_irr|^2 in the metric M^-1: the W of a known current."""

    component = "circulation_component"

    def loss(
        self, dynamics: ComponentDynamics, z: State, dV: State, current: State, inverse: Matrix
    ) -> Scalar:
        """At a state, with inverse = root^-1 and current = root^-1 f_irr."""
        W, div_W = dynamics.circulation_component.with_divergence(z)
        T = dynamics.temperature * dynamics.direction
        return jnp.sum((T * inverse @ (div_W - W @ dV) - current) ** 2)


class LikelihoodStage(AbstractStage):
    """-log of the transition density, over all components."""

    likelihood: AbstractLikelihood
    component = None

    def loss(self, dynamics: ComponentDynamics, start: State, increment: State, dt: Scalar) -> Scalar:
        """Of one pair."""
        return -self.likelihood.log_density(dynamics, start, increment, dt)


class Descent(eqx.Module):
    """Adam on one stage for several models at once, each with its own examples."""

    stage: AbstractStage
    plan: Plan = eqx.field(static=True)
    # Examples whose losses are evaluated at once where all are wanted.
    chunk: int = eqx.field(static=True, default=4096)

    def __call__(
        self, models: PyTree, examples: tuple[Array, ...], held_out: tuple[Array, ...], key: PRNGKeyArray
    ) -> tuple[PyTree, np.ndarray]:
        """The last weights of every model whose loss was finite, and the held-out loss after every epoch.

        Not the best by held-out data: a choice would pull what is small towards where it began, and products
        of independent models are free of noise but not of such a pull.

        Args:
            models: Stacked, one behind the other.
            examples: Arrays whose first axis counts models and whose second counts examples.
            held_out: The same, to judge by.
            key: Of the batches.
        """
        weights, frozen = eqx.partition(models, self.stage.trainable(models))
        state = _begun(self, weights)
        history = [self._means(weights, frozen, held_out)]
        for epoch in range(self.plan.epochs):
            keys = jax.random.split(jax.random.fold_in(key, epoch), len(examples[0]))
            new, state = _epoch(self, weights, frozen, state, examples, keys)
            history.append(self._means(new, frozen, held_out))
            finite = np.isfinite(history[-1])
            if not finite.any():
                break
            weights = new if finite.all() else _where(finite, new, weights)
        return eqx.combine(weights, frozen), np.stack(history)

    def _means(self, weights, frozen, examples) -> np.ndarray:
        return np.asarray(_losses(self, weights, frozen, examples), np.float64).mean(axis=1)

    def losses(self, models: PyTree, examples: tuple[Array, ...]) -> Float[np.ndarray, "k n"]:
        """The loss of every example."""
        weights, frozen = eqx.partition(models, eqx.is_array)
        return np.asarray(_losses(self, weights, frozen, examples), np.float64)


class _EachMember:
    """A function of a descent and one member, for all members.

    Mapped where a device runs them side by side. A CPU's batched matrix products are ten times slower than
    plain ones; there they run one after the other, by one program.
    """

    def __init__(self, function: Callable[..., PyTree]):
        self.one = compiled(function)
        self.all = compiled(lambda descent, *trees: eqx.filter_vmap(partial(function, descent))(*trees))

    def __call__(self, descent: "Descent", *trees: PyTree) -> PyTree:
        if jax.default_backend() != "cpu":
            return self.all(descent, *trees)
        count = len(jax.tree.leaves(trees)[0])
        return stacked([self.one(descent, *(member(tree, k) for tree in trees)) for k in range(count)])


def stacked(trees: Sequence[PyTree]) -> PyTree:
    """Members behind one another: every array gets a first axis that counts them."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *trees)


def member(tree: PyTree, k: int) -> PyTree:
    """One of what `stacked` put together."""
    return jax.tree.map(lambda leaf: leaf[k] if eqx.is_array(leaf) else leaf, tree)


def _where(chosen: np.ndarray, some: PyTree, others: PyTree) -> PyTree:
    """Member by member one of two."""
    return stacked([member(some if own else others, k) for k, own in enumerate(chosen)])


@_EachMember
def _losses(descent: Descent, weights, frozen, examples):
    dynamics = eqx.combine(weights, frozen)
    return jax.lax.map(lambda each: descent.stage.loss(dynamics, *each), examples, batch_size=descent.chunk)


@_EachMember
def _begun(descent: Descent, weights):
    return descent.plan.optimiser().init(weights)


@_EachMember
def _epoch(descent: Descent, weights, frozen, state, examples, key):
    adam, plan = descent.plan.optimiser(), descent.plan

    def loss(weights, batch):
        dynamics = eqx.combine(weights, frozen)
        return jnp.mean(jax.vmap(lambda *each: descent.stage.loss(dynamics, *each))(*batch))

    def step(carried, step_key):
        weights, state = carried
        chosen = jax.random.randint(step_key, (plan.batch,), 0, len(examples[0]))
        gradient = jax.grad(loss)(weights, tuple(part[chosen] for part in examples))
        updates, state = adam.update(gradient, state, weights)
        return (optax.apply_updates(weights, updates), state), None

    return jax.lax.scan(step, (weights, state), jax.random.split(key, plan.steps_per_epoch))[0]
