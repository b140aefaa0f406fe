"""Independent component analysis by SGLD with the natural gradient."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._checks import one_of
from ..._types import Matrix, State
from .sampler import Sampler

SETTINGS = ("published", "paper")
CHANNELS, REALISATIONS = 2, 100


def sgld_ica(
    batch_size: int | None,
    setting: str = "published",
    *,
    replacement: bool = True,
    problem_seed: int = 0,
) -> Sampler:
    """Unmix two channels, one heavy-tailed and one Gaussian: U in R^{2x2}, z = U row by row, 100 data.

    With y = U x the natural gradient of the log-posterior of a datum, times U^T U, is
    (1 - tanh(k y) y^T) U - weight U U^T U, and the noise has covariance U^T U in every row.

    `published`, what the published figures were made with: k = 1, the batch mean of the forces at step .05,
    weight 1, noise of variance U^T U / 100 per unit time; the heavy channel is Student's t with one degree of
    freedom, scaled to unit deviation.
    `paper`, the equation in the text: k = 1/2, forces n/2 times the batch mean, weight 1/2, noise of variance
    U^T U; the text names no step, and ours, .001, makes the same drift an iteration.

    Args:
        batch_size: Data in a batch; None takes all.
        setting: One of the two.
        replacement: Whether a datum can be in a batch twice.
        problem_seed: Of the data.
    """
    generator = np.random.default_rng(problem_seed)
    heavy = generator.standard_t(1, REALISATIONS)
    sources = np.stack([heavy / heavy.std(), generator.normal(size=REALISATIONS)], axis=1)
    published = one_of("setting", setting, SETTINGS) == "published"
    n = REALISATIONS
    sampler = Sampler(
        force=NaturalForce(1.0 if published else 0.5),
        common=Shrinkage(1.0 if published else 0.5),
        noise=MetricNoise(0.01 if published else 1.0),
        start=UniformSquare(),
        data=jnp.asarray(sources, jnp.result_type(float)),
        scale=1.0 if published else n / 2,
        batch_size=None,
        step=0.05 if published else 0.001,
        replacement=replacement,
    )
    return sampler.with_batch_size(batch_size)


class NaturalForce(eqx.Module):
    """(1 - tanh(k y) y^T) U with y = U x."""

    slope: float

    def __call__(self, z: State, x: Any) -> State:
        """At U and a datum x."""
        U = z.reshape(CHANNELS, CHANNELS)
        y = U @ x
        return (U - jnp.outer(jnp.tanh(self.slope * y), y @ U)).ravel()


class Shrinkage(eqx.Module):
    """-weight U U^T U: the Gaussian prior's natural gradient."""

    weight: float

    def __call__(self, z: State) -> State:
        """At U."""
        U = z.reshape(CHANNELS, CHANNELS)
        return -self.weight * (U @ U.T @ U).ravel()


class MetricNoise(eqx.Module):
    """A root of the covariance `variance` * U^T U in every row of U, independent between rows."""

    variance: float

    def __call__(self, z: State) -> Matrix:
        """R = 1 (x) sqrt(variance) C with C C^T = U^T U.

        C is the lower triangular one, from U by Gram-Schmidt: forming U^T U would square its condition.
        """
        U = z.reshape(CHANNELS, CHANNELS)
        a, b = U[:, 0], U[:, 1]
        length = jnp.sqrt(jnp.sum(a**2))
        cross = U[0, 0] * U[1, 1] - U[0, 1] * U[1, 0]
        C = jnp.array([[length, 0.0], [jnp.dot(a, b) / length, jnp.abs(cross) / length]])
        return self.variance**0.5 * jnp.kron(jnp.eye(CHANNELS, dtype=z.dtype), C)


class UniformSquare(eqx.Module):
    """Independent entries, uniform on [-2, 2]."""

    def __call__(self, key) -> State:
        """Draw it."""
        return jax.random.uniform(key, (CHANNELS**2,), minval=-2.0, maxval=2.0)


def without_labels(states: np.ndarray, *along: np.ndarray) -> tuple[np.ndarray, ...]:
    """The same states with the channels named by what they are, not by where a chain happened to begin.

    Nothing tells the rows of U apart, nor their signs: force and noise of P U are P times those of U for all
    eight signed permutations P. A chain stays in one of eight equal wells. Here every state is moved to the
    well where the first row has the larger share of the first column and the diagonal is positive, and what
    belongs to it, such as an increment, is moved along.

    Args:
        states: Of shape (..., 4).
        along: Arrays of the same shape.
    """
    U = states.reshape(-1, CHANNELS, CHANNELS)
    swapped = np.abs(U[:, 0, 0] * U[:, 1, 1]) < np.abs(U[:, 0, 1] * U[:, 1, 0])
    diagonal = np.where(
        swapped[:, None], np.stack([U[:, 1, 0], U[:, 0, 1]], 1), np.stack([U[:, 0, 0], U[:, 1, 1]], 1)
    )
    signs = np.where(diagonal < 0, -1, 1)[:, :, None].astype(states.dtype)

    def moved(values: np.ndarray) -> np.ndarray:
        rows = values.reshape(U.shape)
        return (signs * np.where(swapped[:, None, None], rows[:, ::-1], rows)).reshape(values.shape)

    return tuple(moved(values) for values in (states, *along))
