"""Beyond the data: V must rise outwards there."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..models import Coefficients

DIRECTIONS, REACHES = 64, (1.15, 1.4, 1.8, 2.5)


@dataclass(frozen=True)
class Rim:
    """Places outside the data, and the direction outwards at each.

    No pair says anything about V there, and a smooth continuation may well fall off into a well that
    does not exist. A slope outwards costs nothing; a slope s < 0 costs s^2 / 2 nats.
    """

    points: np.ndarray
    outwards: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray) -> "Rim":
        """On rays from the middle through the outermost states in many directions."""
        middle = np.median(states, axis=0)
        away = states - middle
        directions = np.random.default_rng(0).standard_normal((DIRECTIONS, states.shape[1]))
        far = away[np.argmax(away @ directions.T, axis=0)]
        far = far[np.linalg.norm(far, axis=1) > 0]
        unit = far / np.linalg.norm(far, axis=1, keepdims=True)
        points = np.concatenate([middle + reach * far for reach in REACHES])
        return cls(points, np.tile(unit, (len(REACHES), 1)))

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
