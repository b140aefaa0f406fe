"""How far the data reach: draws from e^-V may be kept there."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.spatial import KDTree

from .._types import Matrix, Scalar, State
from ..components import AbstractPotential
from ..components.groups import FROZEN, Groups, all_of
from ..dynamics import AbstractDynamics

# States that stand for all of them.
STATES, NEIGHBOURS = 1024, 16
USUAL = 0.99
# The wall's width as a part of the reach: at twice the reach it is 32 kT high, and grows as a square.
WIDTH = 1 / 8


@dataclass(frozen=True)
class Reach:
    """All places as near to some recorded states as the other recorded states are.

    Attributes:
        states: Some of the recorded states, `(n, D)`.
        distance: Of each: how far from it, and from those next to it, other recorded states are to which it
            is the nearest, `(n,)`. Where data are dense that is less than where they thin out.
        usual: How far all but one in a hundred are from the nearest.
    """

    states: np.ndarray
    distance: np.ndarray
    usual: float

    @classmethod
    def of(cls, recorded: np.ndarray) -> "Reach":
        """In the coordinates of the states, whose scales should be alike."""
        chosen = np.linspace(0, len(recorded) - 1, min(STATES, -(-len(recorded) // 2))).astype(int)
        states, others = recorded[chosen], np.delete(recorded, chosen, axis=0)
        tree = KDTree(states)
        apart, nearest = tree.query(others)
        own, usual = np.zeros(len(states)), float(np.quantile(apart, USUAL))
        np.maximum.at(own, nearest, apart)
        # A few states a cell do not know how wide it is; those of its neighbours help.
        beside = np.reshape(tree.query(states, k=min(NEIGHBOURS, len(states)))[1], (len(states), -1))
        distance = own[beside].max(axis=1)
        return cls(states, np.where(distance > 0, distance, usual), usual)

    def beyond(self, points: np.ndarray) -> float:
        """The share of points that are farther away than usual; of recorded states it is a hundredth."""
        return float(np.mean(KDTree(self.states).query(points)[0] > self.usual))

    def walled(self, dynamics: AbstractDynamics) -> AbstractDynamics:
        """The same dynamics with a V that rises steeply beyond the reach."""
        number = jnp.result_type(float)
        return eqx.tree_at(
            lambda d: d.potential_component,
            dynamics,
            replace_fn=lambda V: WalledPotential(
                V, jnp.asarray(self.states, number), jnp.asarray(self.distance, number)
            ),
        )


class WalledPotential(AbstractPotential):
    """V(z) + (max(0, d(z) - r) / (r / 8))^2 / 2, d the distance to the nearest state, r the reach of that."""

    potential: AbstractPotential
    states: Float[Array, "n D"]
    distance: Float[Array, " n"]

    @property
    def minimal_stiffness(self) -> float:
        """Of V."""
        return self.potential.minimal_stiffness

    def __call__(self, z: State) -> Scalar:
        """V(z), and what the wall adds."""
        # Which one is nearest by a product of matrices; its gradient then needs that one alone.
        nearest = jnp.argmin(jnp.sum(self.states**2, axis=1) / 2 - self.states @ jax.lax.stop_gradient(z))
        squared, reach = jnp.sum((self.states[nearest] - z) ** 2), self.distance[nearest]
        beyond = jnp.sqrt(jnp.maximum(squared, reach**2)) - reach
        return self.potential(z) + (beyond / (WIDTH * reach)) ** 2 / 2

    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "WalledPotential":
        """The same wall around another V."""
        inner = self.potential.starting_at(stiffness, mean, key=key)
        return WalledPotential(inner, self.states, self.distance)

    def coefficient_groups(self, groups: Groups) -> "WalledPotential":
        """Nothing here is learned."""
        return all_of(self, FROZEN)
