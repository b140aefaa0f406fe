"""OnsagerNet."""

from dataclasses import dataclass, field

import jax
from jaxtyping import PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..components import (
    AbstractCirculation,
    AbstractDiffusion,
    AbstractPotential,
    Full,
    SumOfSquares,
    Triangular,
)
from ..data import Scaling
from ..dynamics import AbstractDrift
from ..likelihood import MeanIncrement
from ..training import Trainable
from .abstract import AbstractBaseline
from .model import BaselineModel


class OnsagerDrift(AbstractBaseline):
    """z' = -(M + W) grad V, M = sigma sigma^T / 2."""

    potential_component: AbstractPotential
    dissipation_component: AbstractDiffusion
    circulation_component: AbstractCirculation

    def potential(self, z: State) -> Scalar:
        """V(z)."""
        return self.potential_component(z)

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return self.potential_component.gradient(z)

    def dissipation(self, z: State) -> Matrix:
        """M = sigma sigma^T / 2."""
        sigma = self.dissipation_component(z)
        return sigma @ sigma.T / 2

    def circulation(self, z: State) -> Matrix:
        """W(z)."""
        return self.circulation_component(z)

    def drift(self, z: State) -> State:
        """f = -(M + W) grad V, every network evaluated once."""
        sigma, dV = self.dissipation_component(z), self.potential_gradient(z)
        return -sigma @ (dV @ sigma) / 2 - self.circulation_component(z) @ dV


@dataclass(frozen=True)
class OnsagerNet(Trainable[BaselineModel]):
    """z' = -[M(z) + W(z)] grad V(z), W = -W^T full, all three learned from mean increments.

    Every flow along which some V falls has this form; one with a limit cycle has not, as V cannot fall all
    round it. (V, M, W) -> (phi(V), M / phi'(V), W / phi'(V)) leaves the drift as it is, and so do changes of
    M and W whose sum times grad V vanishes: neither V nor the split is unique.

    Reference: H. Yu, X. Tian, W. E, Q. Li, OnsagerNet: Learning stable and interpretable dynamics using a
    generalized Onsager principle, Phys. Rev. Fluids 6, 114402 (2021).
    """

    potential: SumOfSquares = field(default_factory=lambda: SumOfSquares(widths=(64,)))
    dissipation: Triangular = field(default_factory=Triangular)
    circulation: Full = field(default_factory=lambda: Full(widths=(32, 32)))

    def build(self, dimension: int, *, key: PRNGKeyArray) -> OnsagerDrift:
        """V, M and W with random weights."""
        keys = jax.random.split(key, 3)
        return OnsagerDrift(
            self.potential.build(dimension, key=keys[0]),
            self.dissipation.build(dimension, key=keys[1]),
            self.circulation.build(dimension, key=keys[2]),
        )

    def likelihood(self, noise: Matrix) -> MeanIncrement:
        """Least squares on increments."""
        return MeanIncrement(noise)

    def in_user_units(self, unit: AbstractDrift, scaling: Scaling) -> BaselineModel:
        """See `BaselineModel`."""
        assert isinstance(unit, OnsagerDrift)
        return BaselineModel(unit, scaling)
