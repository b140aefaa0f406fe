"""Beyond the data: V must rise outwards there."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.spatial import KDTree

from ..models import Coefficients

# Candidates for each distance from the data, in unit-size coordinates, and how many of them are used.
DISTANCES, CANDIDATES, USED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0), 4000, 128
LOOKED_AT, CELL = 50_000, 0.5


@dataclass(frozen=True)
class Rim:
    """Places away from all data, and at each the direction away from the nearest recorded state.

    No pair says anything about V there, and a smooth continuation may well fall off into a well that
    does not exist. Rising away from the data costs nothing; a slope s < 0 costs s^2 / 2 nats.
    """

    points: np.ndarray
    outwards: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray) -> "Rim":
        """Random displacements of recorded states that end away from all of them."""
        generator = np.random.default_rng(0)
        stride = -(-len(states) // LOOKED_AT)
        # Evenly spaced states, and those at the ends of every coordinate.
        ends = np.concatenate([np.argsort(column)[[0, 1, 2, -3, -2, -1]] for column in states.T])
        some = np.concatenate([states[::stride], states[ends]])
        # One state a cell: otherwise nearly all starts would lie where nearly all states are.
        spread = some[np.unique(np.round(some / CELL), axis=0, return_index=True)[1]]
        tree, middle = KDTree(some), np.median(some, axis=0)
        points, outwards = [], []
        for distance in DISTANCES:
            step = generator.standard_normal((CANDIDATES, states.shape[1]))
            step *= distance / np.linalg.norm(step, axis=1, keepdims=True)
            place = spread[generator.integers(len(spread), size=CANDIDATES)] + step
            near, index = tree.query(place)
            away, from_middle = place - some[index], place - middle
            # Between scattered states V may well fall: outwards is also away from the middle of all.
            outer = np.sum(away * from_middle, axis=1) > 0.5 * near * np.linalg.norm(from_middle, axis=1)
            outside = np.flatnonzero(outer & (near > 0.8 * distance))[:USED]
            points.append(place[outside])
            outwards.append(away[outside] / near[outside, None])
        return cls(np.concatenate(points), np.concatenate(outwards))

    @classmethod
    def none(cls, dimension: int) -> "Rim":
        """For a V that is quadratic and needs no guard."""
        return cls(np.zeros((0, dimension)), np.zeros((0, dimension)))

    def slopes(self, weights: Coefficients, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The slope outwards at every point, and its gradient in the coefficients, in which it is linear."""
        points, outwards = (jnp.asarray(a, jnp.result_type(float)) for a in (self.points, self.outwards))
        found = _slopes(weights.unravelled(vector), weights.frozen, points, outwards)
        slopes, gradients = (np.asarray(part, np.float64) for part in found)
        return slopes, gradients

    def cost(self, weights: Coefficients, vector: np.ndarray) -> float:
        """In nats."""
        return float(np.sum(np.minimum(self.slopes(weights, vector)[0], 0.0) ** 2)) / 2


@eqx.filter_jit
def _slopes(chosen, frozen, points, outwards):
    vector, unravel = ravel_pytree(chosen)

    def slope(vector, z, n):
        return jnp.dot(eqx.combine(unravel(vector), frozen).potential_gradient(z), n)

    return jax.vmap(lambda z, n: jax.value_and_grad(slope)(vector, z, n))(points, outwards)
