"""The freedom of models that are not identifiable, made explicit."""

from collections.abc import Callable

import jax

from .._types import Matrix, Scalar, State
from .abstract import AbstractBaseline


class Regauged(AbstractBaseline):
    """(phi(V), M / phi'(V), W / phi'(V)) of a given model, phi increasing: -(M + W) grad V stays."""

    model: AbstractBaseline
    phi: Callable[[Scalar], Scalar]

    def potential(self, z: State) -> Scalar:
        """phi(V)."""
        return self.phi(self.model.potential(z))

    def dissipation(self, z: State) -> Matrix:
        """M / phi'(V)."""
        return self.model.dissipation(z) / jax.grad(self.phi)(self.model.potential(z))

    def circulation(self, z: State) -> Matrix:
        """W / phi'(V)."""
        return self.model.circulation(z) / jax.grad(self.phi)(self.model.potential(z))


def regauged(model: AbstractBaseline, phi: Callable[[Scalar], Scalar]) -> Regauged:
    """Another model with the same drift: no data on mean increments can tell the two apart.

    Args:
        model: A trained `Onsager`, `OnsagerNet` or `StochasticOnsagerNet`.
        phi: A strictly increasing function of one number that JAX can differentiate.
    """
    return Regauged(model, phi)
