"""Beyond the data: V must rise outwards there."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.spatial import KDTree

from ..._programs import compiled
from ...models import Coefficients

# Candidates for each distance from the data, in unit-size coordinates, and how many of them are used.
DISTANCES, CANDIDATES, USED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0), 4000, 128
LOOKED_AT, CELL = 50_000, 0.5
# In many dimensions a tree finds neighbours no faster than looking at all, and few states reach as far.
FLAT, LOOKED_AT_ABOVE = 4, 4096
CORE, NEIGHBOURS = 64, 16


@dataclass(frozen=True)
class OutsideBarrier:
    """Places away from all data, and how far away they are.

    No pair says anything about V there, and a smooth continuation may well fall off into a well that
    does not exist. V must be higher there than at the core of the data, by one kT for every standard
    deviation that separates a place from the nearest recorded state. What it lacks, r < 0, costs r^2 / 2
    nats; otherwise nothing. (To ask for slopes that rise outwards would be too much: beyond the ends of a
    valley V may well fall sideways, towards its continuation.)

    Attributes:
        points: The places, `(n, D)`.
        distances: From the nearest recorded state, `(n,)`.
        core: Some states where the data are densest, `(k, D)`.
    """

    points: np.ndarray
    distances: np.ndarray
    core: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray) -> "OutsideBarrier":
        """Random displacements of recorded states that end away from all of them."""
        generator = np.random.default_rng(0)
        stride = -(-len(states) // (LOOKED_AT if states.shape[1] <= FLAT else LOOKED_AT_ABOVE))
        # Evenly spaced states, and those at the ends of every coordinate.
        ends = np.concatenate([np.argsort(column)[[0, 1, 2, -3, -2, -1]] for column in states.T])
        some = np.concatenate([states[::stride], states[ends]])
        # One state a cell: otherwise nearly all starts would lie where nearly all states are.
        spread = some[np.unique(np.round(some / CELL), axis=0, return_index=True)[1]]
        tree, middle = KDTree(some), np.median(some, axis=0)
        # Inside, between scattered states, V may do anything.
        inside = np.median(np.linalg.norm(some - middle, axis=1))
        points, distances = [], []
        for distance in DISTANCES:
            step = generator.standard_normal((CANDIDATES, states.shape[1]))
            step *= distance / np.linalg.norm(step, axis=1, keepdims=True)
            place = spread[generator.integers(len(spread), size=CANDIDATES)] + step
            apart, index = tree.query(place)
            away, from_middle = place - some[index], place - middle
            radius = np.linalg.norm(from_middle, axis=1)
            outer = (np.sum(away * from_middle, axis=1) > 0.5 * apart * radius) & (radius > inside)
            outside = np.flatnonzero(outer & (apart > 0.8 * distance))[:USED]
            points.append(place[outside])
            distances.append(apart[outside])
        count = min(NEIGHBOURS, len(some))
        candidates = some[generator.permutation(len(some))[: CORE * NEIGHBOURS]]
        reach = np.reshape(tree.query(candidates, k=count)[0], (len(candidates), -1))[:, -1]
        core = candidates[np.argsort(reach)[:CORE]]
        return cls(np.concatenate(points), np.concatenate(distances), core)

    @classmethod
    def none(cls, dimension: int) -> "OutsideBarrier":
        """For a V that is quadratic and needs no guard."""
        return cls(np.zeros((0, dimension)), np.zeros(0), np.zeros((1, dimension)))

    def rises(self, coefficients: Coefficients, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What must not be negative, and its gradient in the coefficients, in which it is linear."""
        places = (jnp.asarray(a, jnp.result_type(float)) for a in (self.points, self.core))
        found = _heights(coefficients.unravelled(vector), coefficients.frozen, *places)
        heights, gradients = (np.asarray(part, np.float64) for part in found)
        return heights - self.distances, gradients

    def cost(self, coefficients: Coefficients, vector: np.ndarray) -> float:
        """In nats."""
        return float(np.sum(np.minimum(self.rises(coefficients, vector)[0], 0.0) ** 2)) / 2


@compiled
def _heights(chosen, frozen, points, core):
    vector, unravel = ravel_pytree(chosen)

    def potential(vector, z):
        return eqx.combine(unravel(vector), frozen).potential(z)

    def all_at(z):
        return jax.vmap(lambda z: jax.value_and_grad(potential)(vector, z))(z)

    (V, dV), (V_core, dV_core) = all_at(points), all_at(core)
    return V - V_core.mean(), dV - dV_core.mean(axis=0)
