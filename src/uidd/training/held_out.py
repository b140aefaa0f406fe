"""One figure for all models: how well they predict increments that they have not seen."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from ..data import Trajectories
from ..dynamics import AbstractDrift
from ..likelihood.mean_increment import flow
from .records import AbstractFit

# Of consecutive pairs, which are not independent.
BLOCKS = 100


@dataclass(frozen=True)
class HeldOutError:
    """The mean of |increment - predicted|^2 over that of |increment|^2, in the increments' own metric.

    1 is what predicting no motion at all gives. The noise of the process bounds it from below, so only
    differences between models on the same data mean something.

    Attributes:
        error: The ratio.
        standard_error: Of it, over a hundred blocks of pairs.
        pairs: How many.
    """

    error: float
    standard_error: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.error:.5g} +- {self.standard_error:.1g} ({self.pairs:,} pairs)"


def held_out_error(model: AbstractDrift | AbstractFit, data: Trajectories | None = None) -> HeldOutError:
    """How well the flow of a model's drift predicts increments, for models with noise and without.

    Args:
        model: A fit, or any model or known dynamics with a drift.
        data: Trajectories that took no part in training; of a fit its own test part by default.
    """
    if isinstance(model, AbstractFit):
        model, data = model.model, model.test if data is None else data
    if not isinstance(model, AbstractDrift):
        fail("model", "a fit or a model with a drift", type(model).__name__)
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Give data that took no part in training.")
    pairs = data.transitions()
    with jax.enable_x64(True):
        predicted = np.asarray(_flows(model, jnp.asarray(pairs.start), jnp.asarray(pairs.dt)))
    whole, left = (
        part / np.sqrt(pairs.dt)[:, None] for part in (pairs.increment, pairs.increment - predicted)
    )
    count, dimension = whole.shape
    root = np.linalg.cholesky(whole.T @ whole / count)
    whole, left = (np.linalg.solve(root, part.T).T for part in (whole, left))
    G = left.T @ left / count
    # What a pair adds to Tr G / D, in which the metric is one of the things that the pairs decide.
    share = (left**2).sum(axis=1) - np.einsum("ni,ij,nj->n", whole, G, whole)
    blocks = np.array([block.sum() for block in np.array_split(share, min(BLOCKS, count))]) / count
    return HeldOutError(float(np.trace(G)) / dimension, float(np.linalg.norm(blocks)) / dimension, count)


@compiled
def _flows(model, starts, dt):
    return jax.vmap(lambda z, h: flow(model, z, h))(starts, dt)
