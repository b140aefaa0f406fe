"""A learned model, in the user's coordinates and time unit."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._checks import fail, numbers
from .._programs import compiled
from .._types import Matrix, Scalar, State
from ..data import Scaling
from ..dynamics import AbstractDynamics, ComponentDynamics
from .architecture import Architecture


class Model(AbstractDynamics):
    """dZ = [-(M + W) grad V + div M + div W] dt + sigma dB, as learned from data.

    The components live in unit-size coordinates; `Scaling` maps every quantity back exactly. Weights
    are the only arrays: everything else is static.

    `anchors` are a few observed states. Sampling starts from them, and outside the region that they
    span the model extrapolates.
    """

    unit: ComponentDynamics
    architecture: Architecture = eqx.field(static=True)
    scaling: Scaling = eqx.field(static=True)
    anchors: tuple[tuple[float, ...], ...] = eqx.field(static=True, default=())
    coordinates: tuple[str, ...] = eqx.field(static=True, default=())
    units: tuple[str, ...] = eqx.field(static=True, default=())
    time_unit: str = eqx.field(static=True, default="")

    @property
    def dimension(self) -> int:
        """The number of coordinates, D."""
        return len(self.scaling.scale)

    def potential(self, z: State) -> Scalar:
        """V(z) = -log(stationary density) + const."""
        return self._at(ComponentDynamics.potential, z) + self.scaling.log_determinant

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return self._at(ComponentDynamics.potential_gradient, z) / self._scale

    def diffusion(self, z: State) -> Matrix:
        """sigma(z), lower triangular with positive diagonal."""
        return self._scale[:, None] * self._at(ComponentDynamics.diffusion, z) / self.scaling.time**0.5

    def circulation(self, z: State) -> Matrix:
        """W(z), antisymmetric."""
        A = self._scale
        return self._at(ComponentDynamics.circulation, z) * A[:, None] * A / self.scaling.time

    def dissipation_divergence(self, z: State) -> State:
        """div M(z)."""
        return self._velocity(self._at(ComponentDynamics.dissipation_divergence, z))

    def circulation_divergence(self, z: State) -> State:
        """div W(z)."""
        return self._velocity(self._at(ComponentDynamics.circulation_divergence, z))

    # Drifts are mapped as vectors instead of being put together from M, W and grad V in user units,
    # whose squares of very small or large units would leave the range of single precision.
    def reversible_drift(self, z: State) -> State:
        """f_rev = -M grad V + div M."""
        return self._velocity(self._at(ComponentDynamics.reversible_drift, z))

    def irreversible_drift(self, z: State) -> State:
        """f_irr = -W grad V + div W, the current velocity."""
        return self._velocity(self._at(ComponentDynamics.irreversible_drift, z))

    def drift(self, z: State) -> State:
        """f = -(M + W) grad V + div M + div W."""
        return self._velocity(self._at(ComponentDynamics.drift, z))

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma together, for those who need both."""
        f, sigma = self._at(ComponentDynamics.drift_and_diffusion, z)
        return self._velocity(f), self._scale[:, None] * sigma / self.scaling.time**0.5

    def time_reversed(self) -> "Model":
        """The reversed stationary process: the same V and sigma, f_irr with its sign flipped."""
        return eqx.tree_at(lambda m: m.unit, self, self.unit.time_reversed())

    @property
    def _scale(self) -> np.ndarray:
        return np.asarray(self.scaling.scale)

    def _at(self, quantity: Callable[..., Any], z: State) -> Any:
        return _evaluated(quantity, self.unit, unit_state(z, self.scaling))

    def _velocity(self, f: State) -> State:
        return f * self._scale / self.scaling.time


def unit_state(z: State, scaling: Scaling) -> Array:
    """One state of the user's in unit-size coordinates."""
    wanted = f"one state of shape ({len(scaling.scale)},)"
    # A NumPy array is shifted in its own double precision before it is rounded to the weights'.
    state = z if isinstance(z, jax.Array) else numbers("z", z, wanted)
    if state.shape != (len(scaling.scale),):
        fail("z", wanted, f"shape {state.shape}", "Map over a batch with jax.vmap.")
    return jnp.asarray(scaling.to_unit(state), jnp.result_type(float))


@compiled  # one small program a quantity, instead of one for each of its operations
def _evaluated(quantity: Callable[..., Any], unit: ComponentDynamics, x: Array) -> Any:
    return quantity(unit, x)
