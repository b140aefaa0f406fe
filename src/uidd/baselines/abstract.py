"""What the compared models have in common."""

import abc

import jax
import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from ..dynamics import AbstractDrift, cholesky, solve_lower


class AbstractBaseline(AbstractDrift):
    """z' = -(M + W) grad V, W = -W^T.

    The names are those of our dynamics, so that both can be compared. What they mean is not: here nothing
    ties V to the stationary density, nor -W grad V to a current.
    """

    @abc.abstractmethod
    def potential(self, z: State) -> Scalar:
        """V(z)."""

    @abc.abstractmethod
    def dissipation(self, z: State) -> Matrix:
        """M(z), symmetric and positive semi-definite."""

    @abc.abstractmethod
    def circulation(self, z: State) -> Matrix:
        """W(z), antisymmetric."""

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return jax.grad(self.potential)(z)

    def irreversible_drift(self, z: State) -> State:
        """-W grad V, along which V does not change."""
        return -self.circulation(z) @ self.potential_gradient(z)

    def local_entropy_production(self, z: State) -> Scalar:
        """f_irr^T M^-1 f_irr: what the split would say if e^-V were the density and 2 M the noise's."""
        whitened = solve_lower(cholesky(self.dissipation(z)), self.irreversible_drift(z))
        return jnp.dot(whitened, whitened)

    def drift(self, z: State) -> State:
        """f = -(M + W) grad V."""
        return -(self.dissipation(z) + self.circulation(z)) @ self.potential_gradient(z)
