"""A trained baseline in the user's coordinates and time unit."""

import equinox as eqx
import numpy as np

from .._types import Matrix, Scalar, State
from ..data import Scaling
from ..dynamics import AbstractEquation
from ..models.model import unit_state
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
        return self.unit.potential(unit_state(z, self.scaling))

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return self.unit.potential_gradient(unit_state(z, self.scaling)) / self._scale

    def dissipation(self, z: State) -> Matrix:
        """M(z)."""
        A = self._scale
        return self.unit.dissipation(unit_state(z, self.scaling)) * A[:, None] * A / self.scaling.time

    def circulation(self, z: State) -> Matrix:
        """W(z)."""
        A = self._scale
        return self.unit.circulation(unit_state(z, self.scaling)) * A[:, None] * A / self.scaling.time

    def irreversible_drift(self, z: State) -> State:
        """-W grad V."""
        return self._velocity(self.unit.irreversible_drift(unit_state(z, self.scaling)))

    def local_entropy_production(self, z: State) -> Scalar:
        """In the user's time."""
        return self.unit.local_entropy_production(unit_state(z, self.scaling)) / self.scaling.time

    def drift(self, z: State) -> State:
        """f(z)."""
        return self._velocity(self.unit.drift(unit_state(z, self.scaling)))

    @property
    def _scale(self) -> np.ndarray:
        return np.asarray(self.scaling.scale)

    def _velocity(self, f: State) -> State:
        return f * self._scale / self.scaling.time


class StochasticBaselineModel(BaselineModel, AbstractEquation):
    """A trained baseline with noise of its own."""

    def diffusion(self, z: State) -> Matrix:
        """sigma_z = A sigma_x / sqrt(tau)."""
        sigma = self.unit.diffusion(unit_state(z, self.scaling))  # pyright: ignore[reportAttributeAccessIssue]
        return self._scale[:, None] * sigma / self.scaling.time**0.5

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma."""
        return BaselineModel.drift(self, z), self.diffusion(z)

    def drift(self, z: State) -> State:
        """f(z)."""
        return BaselineModel.drift(self, z)
