"""A trained baseline in the user's coordinates and time unit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._checks import fail, numbers
from .._types import Matrix, Scalar, State
from ..data import Scaling
from ..dynamics import AbstractEquation
from .abstract import AbstractBaseline


class BaselineModel(AbstractBaseline):
    """f_z = A f_x / tau, M_z = A M_x A / tau, W_z = A W_x A / tau, V_z(z) = V_x(x): see `Scaling`."""

    unit: AbstractBaseline
    scaling: Scaling = eqx.field(static=True)

    @property
    def dimension(self) -> int:
        """The number of coordinates, D."""
        return len(self.scaling.scale)

    def potential(self, z: State) -> Scalar:
        """V(z)."""
        return self.unit.potential(self._unit_state(z))

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return self.unit.potential_gradient(self._unit_state(z)) / self._scale

    def dissipation(self, z: State) -> Matrix:
        """M(z)."""
        A = self._scale
        return self.unit.dissipation(self._unit_state(z)) * A[:, None] * A / self.scaling.time

    def circulation(self, z: State) -> Matrix:
        """W(z)."""
        A = self._scale
        return self.unit.circulation(self._unit_state(z)) * A[:, None] * A / self.scaling.time

    def irreversible_drift(self, z: State) -> State:
        """-W grad V."""
        return self._velocity(self.unit.irreversible_drift(self._unit_state(z)))

    def local_entropy_production(self, z: State) -> Scalar:
        """In the user's time."""
        return self.unit.local_entropy_production(self._unit_state(z)) / self.scaling.time

    def drift(self, z: State) -> State:
        """f(z)."""
        return self._velocity(self.unit.drift(self._unit_state(z)))

    @property
    def _scale(self) -> np.ndarray:
        return np.asarray(self.scaling.scale)

    def _unit_state(self, z: State) -> Array:
        wanted = f"one state of shape ({self.dimension},)"
        state = z if isinstance(z, jax.Array) else numbers("z", z, wanted)
        if state.shape != (self.dimension,):
            fail("z", wanted, f"shape {state.shape}", "Map over a batch with jax.vmap.")
        return jnp.asarray(self.scaling.to_unit(state), jnp.result_type(float))

    def _velocity(self, f: State) -> State:
        return f * self._scale / self.scaling.time


class StochasticBaselineModel(BaselineModel, AbstractEquation):
    """A trained baseline with noise of its own."""

    def diffusion(self, z: State) -> Matrix:
        """sigma_z = A sigma_x / sqrt(tau)."""
        sigma = self.unit.diffusion(self._unit_state(z))  # pyright: ignore[reportAttributeAccessIssue]
        return self._scale[:, None] * sigma / self.scaling.time**0.5

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma."""
        return BaselineModel.drift(self, z), self.diffusion(z)

    def drift(self, z: State) -> State:
        """f(z)."""
        return BaselineModel.drift(self, z)
