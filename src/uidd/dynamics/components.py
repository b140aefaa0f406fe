"""Dynamics made of learnable components."""

import equinox as eqx
import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from ..components import AbstractCirculation, AbstractDiffusion, AbstractPotential, ConstantDiffusion
from .abstract import AbstractDynamics


class ComponentDynamics(AbstractDynamics):
    """V, sigma and W from three components, at temperature T.

    The components are the paper's V~, sigma~ and W~: V = V~/T, sigma = sqrt(T) sigma~, W = T W~. At
    T = 1 they are V, sigma and W themselves; as T -> 0 the drift tends to -(M~ + W~) grad V~.
    `direction` is -1 for the time-reversed process.
    """

    potential_component: AbstractPotential
    diffusion_component: AbstractDiffusion
    circulation_component: AbstractCirculation
    temperature: float = eqx.field(static=True, default=1.0)
    direction: int = eqx.field(static=True, default=1)

    @property
    def noise_is_uniform(self) -> bool:
        """Whether the component is constant."""
        return isinstance(self.diffusion_component, ConstantDiffusion)

    def potential(self, z: State) -> Scalar:
        """V = V~ / T."""
        return self.potential_component(z) / self.temperature

    def potential_gradient(self, z: State) -> State:
        """grad V = grad V~ / T."""
        return self.potential_component.gradient(jnp.asarray(z, jnp.result_type(float))) / self.temperature

    def diffusion(self, z: State) -> Matrix:
        """sigma = sqrt(T) sigma~."""
        return self.temperature**0.5 * self.diffusion_component(z)

    def circulation(self, z: State) -> Matrix:
        """W = T W~."""
        return self.direction * self.temperature * self.circulation_component(z)

    def dissipation_divergence(self, z: State) -> State:
        """div M = T div M~."""
        return self.temperature * self.diffusion_component.with_divergence(z)[1]

    def circulation_divergence(self, z: State) -> State:
        """div W = T div W~."""
        return self.direction * self.temperature * self.circulation_component.with_divergence(z)[1]

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma, every network evaluated once. This is the inner loop of training."""
        T, dV = self.temperature, self.potential_gradient(z)
        sigma, div_M = self.diffusion_component.with_divergence(z)
        W, div_W = self.circulation_component.with_divergence(z)
        reversible = -T / 2 * sigma @ (dV @ sigma) + T * div_M
        irreversible = self.direction * T * (div_W - W @ dV)
        return reversible + irreversible, T**0.5 * sigma

    def time_reversed(self) -> "ComponentDynamics":
        """W with its sign flipped."""
        return ComponentDynamics(
            self.potential_component,
            self.diffusion_component,
            self.circulation_component,
            self.temperature,
            -self.direction,
        )
