"""GENERIC, as a GFINN."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..components import AbstractCirculation, AbstractDiffusion, Full, Network, Triangular
from ..data import Scaling
from ..dynamics import AbstractDrift
from ..likelihood import MeanIncrement
from ..training import Trainable
from .abstract import AbstractBaseline
from .model import BaselineModel


class GenericDrift(AbstractBaseline):
    """z' = L grad E + M grad S with L = Q^T A Q, M = P^T T T^T P / 2 and L grad S = M grad E = 0 exactly.

    The rows of Q are B_k grad S and those of P are C_k grad E, with constant antisymmetric B_k and C_k:
    grad S^T B_k grad S = 0, so Q grad S = 0 and P grad E = 0 whatever the weights. A(z) is antisymmetric and
    T(z) lower triangular.
    """

    energy_network: Network
    entropy_network: Network
    reversible_rows: Float[Array, "D D D"]
    dissipative_rows: Float[Array, "D D D"]
    reversible_component: AbstractCirculation
    dissipative_component: AbstractDiffusion

    def energy(self, z: State) -> Scalar:
        """E(z), which no solution changes."""
        return self.energy_network(z)[0]

    def entropy(self, z: State) -> Scalar:
        """S(z), which no solution lowers."""
        return self.entropy_network(z)[0]

    def potential(self, z: State) -> Scalar:
        """V = -(E + S): with the degeneracies the drift is -(M + L) grad V."""
        return -(self.energy(z) + self.entropy(z))

    def circulation(self, z: State) -> Matrix:
        """L(z)."""
        Q = _antisymmetric(self.reversible_rows) @ jax.grad(self.entropy)(z)
        return Q.T @ self.reversible_component(z) @ Q

    def dissipation(self, z: State) -> Matrix:
        """M(z)."""
        P = _antisymmetric(self.dissipative_rows) @ jax.grad(self.energy)(z)
        half = P.T @ self.dissipative_component(z)
        return half @ half.T / 2

    def irreversible_drift(self, z: State) -> State:
        """L grad E."""
        return self.circulation(z) @ jax.grad(self.energy)(z)

    def local_entropy_production(self, z: State) -> Scalar:
        """dS/dt = grad S^T M grad S, GENERIC's own."""
        dS = jax.grad(self.entropy)(z)
        return dS @ self.dissipation(z) @ dS

    def drift(self, z: State) -> State:
        """f = L grad E + M grad S."""
        dE, dS = jax.grad(self.energy)(z), jax.grad(self.entropy)(z)
        Q, P = _antisymmetric(self.reversible_rows) @ dS, _antisymmetric(self.dissipative_rows) @ dE
        T = self.dissipative_component(z)
        return Q.T @ (self.reversible_component(z) @ (Q @ dE)) + P.T @ (T @ (T.T @ (P @ dS))) / 2


@dataclass(frozen=True)
class GFINN(Trainable[BaselineModel]):
    """GENERIC: z' = L grad E + M grad S, L = -L^T, M >= 0, L grad S = 0, M grad E = 0.

    dE/dt = 0 and dS/dt >= 0 along every solution, so this is a law for closed systems. If all solutions end
    in one point, a continuous E is the same everywhere. Then L grad E = 0, and what GENERIC has left is
    Onsager's M grad S; in a GFINN, whose M is made from grad E, nothing moves at all. Without a further
    coordinate for the energy of the surroundings a relaxing system is out of its reach, and in two dimensions
    L vanishes altogether, except where grad S does. (E, S, L, M) -> (phi(E), phi(S), L / phi', M / phi')
    leaves the drift as it is.

    Reference: Z. Zhang, Y. Shin, G. E. Karniadakis, GFINNs: GENERIC formalism informed neural networks for
    deterministic and stochastic dynamical systems, Phil. Trans. R. Soc. A 380, 20210207 (2022).
    """

    widths: tuple[int, ...] = (64,)
    reversible: Full = field(default_factory=lambda: Full(widths=(32, 32)))
    dissipative: Triangular = field(default_factory=Triangular)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> GenericDrift:
        """E, S, L and M with random weights."""
        keys = jax.random.split(key, 6)
        cube = (dimension, dimension, dimension)
        return GenericDrift(
            Network.random(dimension, 1, self.widths, "tanh", key=keys[0]),
            Network.random(dimension, 1, self.widths, "tanh", key=keys[1]),
            jax.random.normal(keys[2], cube) / dimension**0.5,
            jax.random.normal(keys[3], cube) / dimension**0.5,
            self.reversible.build(dimension, key=keys[4]),
            self.dissipative.build(dimension, key=keys[5]),
        )

    def likelihood(self, noise: Matrix) -> MeanIncrement:
        """Least squares on increments."""
        return MeanIncrement(noise)

    def in_user_units(self, unit: AbstractDrift, scaling: Scaling) -> BaselineModel:
        """See `BaselineModel`."""
        assert isinstance(unit, GenericDrift)
        return BaselineModel(unit, scaling)


def _antisymmetric(rows: Float[Array, "D D D"]) -> Float[Array, "D D D"]:
    return rows - jnp.swapaxes(rows, 1, 2)
