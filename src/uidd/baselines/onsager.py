"""The Onsager principle."""

from dataclasses import dataclass, field

import jax
from jaxtyping import PRNGKeyArray

from .._types import Matrix
from ..components import NoCirculation, SumOfSquares, Triangular
from ..data import Scaling
from ..dynamics import AbstractDrift
from ..likelihood import MeanIncrement
from ..training import Trainable
from .model import BaselineModel
from .onsager_net import OnsagerDrift


@dataclass(frozen=True)
class Onsager(Trainable[BaselineModel]):
    """z' = -M(z) grad V(z), M = sigma sigma^T / 2, V and M learned from mean increments.

    V falls along every solution. At a fixed point the Jacobian is -M times the Hessian of V, which has real
    eigenvalues: no solution spirals in. Elsewhere an M that varies can turn the force, so that a current may
    pass for friction. (V, M) -> (phi(V), M / phi'(V)) leaves the drift as it is, for every increasing phi,
    and so does a change of M that vanishes along grad V: neither is unique.

    Reference: L. Onsager, Reciprocal relations in irreversible processes, Phys. Rev. 37, 405 (1931);
    M. Doi, Onsager's variational principle in soft matter, J. Phys.: Condens. Matter 23, 284118 (2011).
    """

    potential: SumOfSquares = field(default_factory=lambda: SumOfSquares(widths=(64,)))
    dissipation: Triangular = field(default_factory=Triangular)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> OnsagerDrift:
        """V and M with random weights, and W = 0."""
        keys = jax.random.split(key)
        return OnsagerDrift(
            self.potential.build(dimension, key=keys[0]),
            self.dissipation.build(dimension, key=keys[1]),
            NoCirculation(),
        )

    def likelihood(self, noise: Matrix) -> MeanIncrement:
        """Least squares on increments."""
        return MeanIncrement(noise)

    def in_user_units(self, unit: AbstractDrift, scaling: Scaling) -> BaselineModel:
        """See `BaselineModel`."""
        assert isinstance(unit, OnsagerDrift)
        return BaselineModel(unit, scaling)
