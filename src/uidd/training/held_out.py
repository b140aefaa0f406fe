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
from .records import Trained


@dataclass(frozen=True)
class HeldOutError:
    """The mean of |increment - predicted|^2 over that of |increment|^2, in the increments' own metric.

    1 is what predicting no motion at all gives. The noise of the process bounds it from below, so only
    differences between models on the same data mean something.

    Attributes:
        error: The ratio.
        standard_error: Of it, over pairs.
        pairs: How many.
    """

    error: float
    standard_error: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.error:.5g} +- {self.standard_error:.1g} ({self.pairs:,} pairs)"


def held_out_error(model: AbstractDrift | Trained, data: Trajectories | None = None) -> HeldOutError:
    """How well the flow of a model's drift predicts increments, for models with noise and without.

    Args:
        model: A fit, or any model or known dynamics with a drift.
        data: Trajectories that took no part in training; of a fit its own test part by default.
    """
    if isinstance(model, Trained):
        model, data = model.model, model.test if data is None else data
    if not isinstance(model, AbstractDrift):
        fail("model", "a fit or a model with a drift", type(model).__name__)
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Give data that took no part in training.")
    pairs = data.transitions()
    with jax.enable_x64(True):
        predicted = np.asarray(_flows(model, jnp.asarray(pairs.start), jnp.asarray(pairs.dt)))
    root = _root(pairs.increment, pairs.dt)
    left, whole = (
        (np.linalg.solve(root, part.T) ** 2).sum(axis=0) / pairs.dt
        for part in (pairs.increment - predicted, pairs.increment)
    )
    spread = np.std(left - left.mean() / whole.mean() * whole) / whole.mean()
    count = len(pairs.dt)
    return HeldOutError(float(left.mean() / whole.mean()), float(spread / count**0.5), count)


def _root(increment: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """Of the mean of increment increment^T / dt."""
    return np.linalg.cholesky(np.einsum("ni,nj,n->ij", increment, increment, 1 / dt) / len(dt))


@compiled
def _flows(model, starts, dt):
    return jax.vmap(lambda z, h: flow(model, z, h))(starts, dt)
