"""What training minimises: the loss of one example, and which leaves of the model may move."""

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractDrift, AbstractEquation, ComponentDynamics
from ..likelihood import AbstractLikelihood


class AbstractObjective(eqx.Module):
    """A mean of losses over examples, and the component that it is minimised over.

    Attributes:
        component: The name of the component that learns; None for all of them.
    """

    component: ClassVar[str | None]

    @abc.abstractmethod
    def loss(self, dynamics: Any, *example: Any, **named: Any) -> Scalar:
        """Of one example."""

    def trainable(self, dynamics: AbstractDrift) -> PyTree:
        """Which leaves learn."""
        name = self.component
        if name is None:
            return jax.tree.map(eqx.is_array, dynamics)
        nothing = jax.tree.map(lambda _: False, dynamics)
        own = jax.tree.map(eqx.is_array, getattr(dynamics, name))
        return eqx.tree_at(lambda d: getattr(d, name), nothing, own)


class LikelihoodObjective(AbstractObjective):
    """-log of the transition density, over all components."""

    likelihood: AbstractLikelihood
    component = None

    def loss(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> Scalar:
        """Of one pair."""
        return -self.likelihood.log_density(dynamics, start, increment, dt)


class NoiseObjective(AbstractObjective):
    """|sigma - sigma_0|^2 for a given field sigma_0."""

    component = "diffusion_component"

    def loss(self, dynamics: ComponentDynamics, z: State, sigma: Matrix) -> Scalar:
        """At a state."""
        return jnp.sum((dynamics.diffusion(z) - sigma) ** 2)


class PotentialObjective(AbstractObjective):
    """|f - div M + M grad V|^2 in the metric M^-1; over all V, -log of the stationary density minimises it.

    With f = -M grad V + div M + f_irr what is squared is f_irr + M grad(V' - V), and f_irr is orthogonal to
    all M grad phi. Nothing random is left in it, so V is found as exactly as f and M are given.
    """

    component = "potential_component"

    def loss(self, dynamics: ComponentDynamics, z: State, pull: State, root: Matrix) -> Scalar:
        """At a state, with M = root root^T and pull = root^-1 (f - div M)."""
        return jnp.sum((pull + dynamics.potential_gradient(z) @ root) ** 2)


class CirculationObjective(AbstractObjective):
    """|div W - W grad V - f_irr|^2 in the metric M^-1: the W of a given current."""

    component = "circulation_component"

    def loss(
        self, dynamics: ComponentDynamics, z: State, dV: State, current: State, inverse: Matrix
    ) -> Scalar:
        """At a state, with inverse = root^-1 and current = root^-1 f_irr."""
        W, div_W = dynamics.circulation_component.with_divergence(z)
        T = dynamics.temperature * dynamics.direction
        return jnp.sum((T * inverse @ (div_W - W @ dV) - current) ** 2)
