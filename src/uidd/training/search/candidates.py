"""The models between the linear start and all networks."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..._programs import compiled
from ...components import (
    AbstractCirculation,
    AbstractDiffusion,
    AbstractPotential,
    CurrentCirculation,
    QuadraticPotential,
)
from ...data import Transitions
from ...dynamics import ComponentDynamics
from ...models import Architecture, Coefficients
from ...models.coefficients import COMPONENTS
from ..regression.free_drift import FreeDrift
from ..regression.linear import LinearModel, sharpened
from ..regression.matching_pursuit import with_selected_units

# States that a mean is taken over. One number: compiled once for all data.
LOOKED_AT = 1024


class Candidates:
    """Every model that a search may pass through; what is costly is made when it is asked for.

    Args:
        architecture: With all networks.
        start: From an architecture and a linear model to dynamics that reproduce it.
        linear: The best linear model.
        pairs: The transitions.
    """

    def __init__(
        self,
        architecture: Architecture,
        start: Callable[[Architecture, LinearModel], ComponentDynamics],
        linear: LinearModel,
        pairs: Transitions,
    ):
        self.architecture, self.start, self.linear, self.pairs = architecture, start, linear, pairs

    @cached_property
    def plain(self) -> ComponentDynamics:
        """The linear start, without networks."""
        return self.start(self.architecture.plain, self.linear)

    @cached_property
    def built(self) -> ComponentDynamics:
        """The linear start, with all networks at zero."""
        return self.start(self.architecture, self.linear)

    @cached_property
    def free(self) -> FreeDrift:
        """The drift without structure."""
        return FreeDrift.of(self.pairs)

    @cached_property
    def sharpened_start(self) -> tuple[ComponentDynamics, ComponentDynamics]:
        """As `built` and `plain`, at the noise that is left by a nonlinear drift."""
        sharp = sharpened(self.linear, self.free.dissipation)
        return self.start(self.architecture, sharp), self.start(self.architecture.plain, sharp)

    @cached_property
    def free_residuals(self) -> tuple[np.ndarray, np.ndarray]:
        """Which pairs the free drift was fitted to, and what it leaves of them."""
        return self.free.fitted(self.pairs)

    @cached_property
    def noise_with_selected_units(self) -> AbstractDiffusion:
        """sigma of `sharpened_start` with units along which the noise changes."""
        chosen, xi = self.free_residuals
        return with_selected_units(self.sharpened_start[0].diffusion_component, self.pairs.start[chosen], xi)

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """The components that have a network."""
        found = Coefficients.of(self.built)
        own = set(found.component[found.penalised].tolist())
        return tuple(name for k, name in enumerate(COMPONENTS) if k in own)

    def specification(self, networks: tuple[str, ...]) -> Architecture:
        """The architecture with the networks that are in the model."""
        return replace(
            self.architecture.plain, **{name: getattr(self.architecture, name) for name in networks}
        )

    def model(self, networks: tuple[str, ...]) -> ComponentDynamics:
        """The plain model with the named networks put in; sigma's has units where the noise changes."""
        names = [name for name in COMPONENTS if name in networks]
        if not names:
            return self.plain
        built, plain = self.sharpened_start
        parts = [
            self.noise_with_selected_units if n == "diffusion" else getattr(built, f"{n}_component")
            for n in names
        ]
        return eqx.tree_at(lambda d: [getattr(d, f"{name}_component") for name in names], plain, parts)

    def with_all_networks(self, linear: ComponentDynamics) -> ComponentDynamics:
        """A linear model with all networks put in, at zero; W refers to its V."""
        V, sigma, W = (getattr(linear, f"{name}_component") for name in COMPONENTS)
        z = jnp.zeros(self.pairs.start.shape[1])
        full = self.built
        V_full = full.potential_component
        if isinstance(V_full, QuadraticPotential) and isinstance(V, QuadraticPotential):
            V_full = eqx.tree_at(lambda p: (p.stiffness, p.slope), V_full, (V.stiffness, V.slope))
        parts = (
            V_full,
            full.diffusion_component.starting_at(sigma(z)),
            full.circulation_component.starting_at(W(z)),
        )
        built = eqx.tree_at(
            lambda d: [getattr(d, f"{name}_component") for name in COMPONENTS], full, list(parts)
        )
        own = Coefficients.of(built)
        return self.referring(built, own.vector[own.component == COMPONENTS.index("potential")])

    def referring(self, present: ComponentDynamics, reference: np.ndarray) -> ComponentDynamics:
        """The same model with a W that refers to a V of these coefficients, where it refers to one."""
        W = present.circulation_component
        if not isinstance(W, CurrentCirculation):
            return present
        coefficients = Coefficients.of(present)
        vector = coefficients.vector
        vector[coefficients.component == COMPONENTS.index("potential")] = reference
        V = coefficients.dynamics(vector).potential_component
        level = _mean(V, self.pairs.start)[None]
        return eqx.tree_at(lambda d: d.circulation_component, present, W.referring_to(V, level))

    def with_networks(self, present: ComponentDynamics, networks: tuple[str, ...]) -> ComponentDynamics:
        """With the named networks of sigma and W put in, and the others left out, at their means."""
        full, plain = self.sharpened_start
        names = ("diffusion_component", "circulation_component")

        def at_constant(name, part, wanted):
            other = getattr(full if wanted else plain, name)
            if type(other) is type(part):
                return part
            return other.starting_at(_mean(part, self.pairs.start))

        parts = [at_constant(n, getattr(present, n), n.split("_")[0] in networks) for n in names]
        return eqx.tree_at(lambda d: [getattr(d, name) for name in names], present, parts)


def _mean(field: AbstractDiffusion | AbstractCirculation | AbstractPotential, states: np.ndarray) -> Array:
    """Over some of the states."""
    some = np.linspace(0, len(states) - 1, LOOKED_AT).astype(int)
    return _mean_over(field, jnp.asarray(states[some], jnp.result_type(float)))


@compiled
def _mean_over(field, states):
    return jax.vmap(field)(states).mean(axis=0)
