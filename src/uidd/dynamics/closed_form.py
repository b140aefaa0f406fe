"""Dynamics given by formulas: the known systems against which everything is tested."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from .abstract import AbstractDynamics
from .divergence import matrix_divergence


class ClosedFormDynamics(AbstractDynamics):
    """V, sigma and W as plain functions; every derivative by automatic differentiation."""

    potential_function: Callable[[State], Scalar] = eqx.field(static=True)
    diffusion_function: Callable[[State], Matrix] = eqx.field(static=True)
    circulation_function: Callable[[State], Matrix] = eqx.field(static=True)
    direction: int = eqx.field(static=True, default=1)

    def potential(self, z: State) -> Scalar:
        """V(z)."""
        return self.potential_function(jnp.asarray(z))

    def diffusion(self, z: State) -> Matrix:
        """sigma(z)."""
        return self.diffusion_function(jnp.asarray(z))

    def circulation(self, z: State) -> Matrix:
        """W(z)."""
        return self.direction * self.circulation_function(jnp.asarray(z))

    def circulation_divergence(self, z: State) -> State:
        """div W by the full Jacobian of W."""
        return matrix_divergence(self.circulation, z)

    def time_reversed(self) -> "ClosedFormDynamics":
        """W with its sign flipped."""
        return ClosedFormDynamics(
            self.potential_function, self.diffusion_function, self.circulation_function, -self.direction
        )
