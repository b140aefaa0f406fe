"""V: a scalar field with integrable e^-V."""

import abc
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from .network import Network


class AbstractPotential(eqx.Module):
    """V(z), bounded below by a quadratic."""

    @property
    @abc.abstractmethod
    def minimal_stiffness(self) -> float:
        """Every Hessian that `starting_at` can represent exceeds this number."""

    @abc.abstractmethod
    def __call__(self, z: State) -> Scalar:
        """V(z)."""

    @abc.abstractmethod
    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "AbstractPotential":
        """The same potential with weights such that V = (z - mean)^T stiffness (z - mean) / 2."""


class SumOfSquaresPotential(AbstractPotential):
    """V(z) = b1/2 sum_i (U_i(z) + b2 sum_j g_ij z_j)^2 + b3 |z|^2, the paper's form.

    V >= b3 |z|^2, so e^-V is integrable whatever the weights.
    """

    network: Network
    slopes: Float[Array, "m D"]
    b1: float = eqx.field(static=True)
    b2: float = eqx.field(static=True)
    b3: float = eqx.field(static=True)

    @property
    def minimal_stiffness(self) -> float:
        """2 b3, the stiffness left when every square vanishes."""
        return 2 * self.b3

    def __call__(self, z: State) -> Scalar:
        """V(z)."""
        u = self.network(z) + self.b2 * self.slopes @ z
        return self.b1 / 2 * jnp.dot(u, u) + self.b3 * jnp.dot(z, z)

    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "SumOfSquaresPotential":
        """Weights for the quadratic V = (z - mean)^T stiffness (z - mean) / 2, up to a constant.

        With b1 b2^2 g^T g + 2 b3 = stiffness the Hessian is right, and the constant U = c solves
        b1 b2 g^T (c + b2 g mean) + 2 b3 mean = 0. The root g is turned by a random rotation of R^m: a
        component that starts at zero would stay there, because V depends on its square.
        """
        count, dimension = self.slopes.shape
        values, vectors = jnp.linalg.eigh(stiffness - 2 * self.b3 * jnp.eye(dimension))
        root = (vectors * jnp.sqrt(jnp.maximum(values, 1e-6))).T / (self.b2 * self.b1**0.5)
        frame, _ = jnp.linalg.qr(jax.random.normal(key, (count, dimension)))
        slopes = frame @ root
        shift = jnp.linalg.solve(root.T, mean) * (2 * self.b3 / (self.b1 * self.b2))
        constant = -self.b2 * slopes @ mean - frame @ shift
        network = self.network.starting_at(constant)
        return eqx.tree_at(lambda p: (p.network, p.slopes), self, (network, slopes))


@dataclass(frozen=True)
class SumOfSquares:
    """Specification of `SumOfSquaresPotential`; defaults are the paper's for SGLD."""

    components: int = 32
    widths: tuple[int, ...] = (128,)
    activation: str = "tanh"
    b1: float = 1.0
    b2: float = 1.0
    b3: float = 1e-3

    def build(self, dimension: int, *, key: PRNGKeyArray) -> SumOfSquaresPotential:
        """Random weights for a state of `dimension` coordinates."""
        network_key, slope_key = jax.random.split(key)
        count = max(self.components, dimension)
        return SumOfSquaresPotential(
            network=Network(dimension, count, self.widths, self.activation, key=network_key),
            slopes=jax.random.normal(slope_key, (count, dimension)) / count**0.5,
            b1=self.b1,
            b2=self.b2,
            b3=self.b3,
        )
