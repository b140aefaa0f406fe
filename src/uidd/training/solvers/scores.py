"""Passes over the data: log-densities, their gradients, and the noise that a model leaves."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.flatten_util import ravel_pytree

from ..._programs import compiled
from ...data import Transitions
from ...likelihood import AbstractGaussian, AbstractLikelihood, EulerMaruyama
from ...models import Coefficients
from .sample import SEGMENT, Sample

# Pairs whose gradients are formed at once.
CHUNK = 512
MOST_BELOW = 10.0
# Log-densities so many nats below the median are bounded.
BELOW_MEDIAN = 20.0


@dataclass(frozen=True)
class Scores:
    """Sums over pairs at given coefficients.

    Attributes:
        value: The log-density.
        blocks: Its gradient, summed within each block of the data.
    """

    value: float
    blocks: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        """Summed over all blocks."""
        return self.blocks.sum(axis=0)


def log_densities(
    coefficients: Coefficients, vector: np.ndarray, likelihood: AbstractLikelihood, data: Sample
) -> np.ndarray:
    """The log-density of every pair."""
    if isinstance(likelihood, AbstractGaussian) and not isinstance(likelihood, EulerMaruyama):
        noise, log_volume, *_ = _passed(coefficients, vector, likelihood, data, SEGMENT)
        return _density(noise, log_volume)
    chosen = coefficients.unravelled(vector)

    def of(pairs, which) -> np.ndarray:
        found = np.asarray(_values(chosen, coefficients.frozen, likelihood, pairs), np.float64)
        return found[: which.stop - which.start]

    return np.concatenate(list(data.each(of)))


@dataclass(frozen=True)
class Whitened:
    """What a model leaves of the increments.

    Attributes:
        noise: L^-1 (increment - m), white if the model is right, `(n, D)`.
        log_densities: Of every pair.
        euler_pairs: Pairs as Euler's scheme would have made them of that noise.
    """

    noise: np.ndarray
    log_densities: np.ndarray
    euler_pairs: Sample

    @property
    def height(self) -> float:
        """The sum of the log-densities, each bounded below as in training."""
        return -len(self.log_densities) * loss_of(self.log_densities)


def whitened(
    coefficients: Coefficients, vector: np.ndarray, likelihood: AbstractGaussian, data: Sample
) -> Whitened:
    """One pass, without gradients; pairs that seem impossible are looked at again in finer steps.

    Euler's likelihood of these pairs has the same solution as the likelihood of the recorded ones up
    to the square of what the drift does to a deviation within one interval: xi is white given the state, so
    the equations for the coefficients are unbiased, and their weights nearly the best ones. It takes a
    tenth of the time.
    """
    parts = _passed(coefficients, vector, likelihood, data, SEGMENT)
    density = _density(*parts[:2])
    far_off = np.flatnonzero(~(density >= floor_of(density)))
    if likelihood.finer is not None and len(far_off):
        # Where the drift is stiff, steps that are good elsewhere leave nonsense: a few such pairs would say
        # of a step up that it leads down.
        again = _passed(coefficients, vector, likelihood.finer, data.at(far_off), CHUNK)
        for part, better in zip(parts, again, strict=True):
            part[far_off] = better
    noise, log_volume, start, increment = parts
    density = _density(noise, log_volume)
    # A model that has a pair with no chance may send it anywhere: such pairs stay as they were recorded.
    usable = (density >= floor_of(density))[:, None] & np.isfinite(start + increment).all(
        axis=1, keepdims=True
    )
    pairs = Transitions(
        np.where(usable, start, data.pairs.start),
        np.where(usable, increment, data.pairs.increment),
        data.pairs.dt,
    )
    return Whitened(noise, density, replace(data, pairs=pairs))


def _passed(coefficients, vector, likelihood, data: Sample, size: int) -> list[np.ndarray]:
    """Noise, log-volume, and start and increment of the Euler pair, of all pairs."""
    chosen, scheme = coefficients.unravelled(vector), likelihood.as_argument

    def of(pairs, which) -> list[np.ndarray]:
        found = _whitened(chosen, coefficients.frozen, scheme, pairs)
        return [np.asarray(part, np.float64)[: which.stop - which.start] for part in found]

    return [np.concatenate(part) for part in zip(*data.each(of, size), strict=True)]


def _density(noise: np.ndarray, log_volume: np.ndarray) -> np.ndarray:
    return -np.sum(noise**2, axis=1) / 2 - log_volume


def mean_loss(
    coefficients: Coefficients, vector: np.ndarray, likelihood: AbstractLikelihood, data: Sample
) -> float:
    """-(mean log-density), bounded below."""
    return loss_of(log_densities(coefficients, vector, likelihood, data))


def loss_of(log_densities: np.ndarray) -> float:
    """-(their mean), each bounded below as in training: one outlying pair must not be the mean."""
    return -float(_bounded_below(log_densities, floor_of(log_densities))[0].mean())


def floor_of(log_densities: np.ndarray) -> float:
    """Twenty nats below the middle: a Gaussian of any dimension has none there."""
    return float(np.nanmedian(log_densities)) - BELOW_MEDIAN


def values(
    coefficients: Coefficients,
    vector: np.ndarray,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    floor: float,
) -> float:
    """The log-density of all pairs, each bounded below at `floor`."""
    return float(_bounded_below(log_densities(coefficients, vector, likelihood, data), floor)[0].sum())


def scores(
    coefficients: Coefficients,
    vector: np.ndarray,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    floor: float,
) -> Scores:
    """Value and gradient of the log-density, each pair's bounded below at `floor`."""
    chosen = coefficients.unravelled(vector)

    def of(pairs, which) -> tuple[float, np.ndarray]:
        count = which.stop - which.start
        found, gradients, size = gradients_of(chosen, coefficients.frozen, likelihood, pairs)
        bounded, slope = _bounded_below(np.asarray(found, np.float64)[:count], floor)
        gradients, size = np.asarray(gradients)[:count], np.asarray(size)[:count]
        weight = slope * _capped(size, slope)
        if not np.isfinite(size).all():
            gradients = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
        places = data.block[which], np.arange(count)
        summed = scipy.sparse.csr_array((weight, places), (data.blocks, count)) @ gradients
        return float(bounded.sum()), summed

    value, blocks = 0.0, np.zeros((data.blocks, len(vector)))
    for bounded, summed in data.each(of):
        value, blocks = value + bounded, blocks + summed
    return Scores(value, blocks)


def _bounded_below(value: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """v above the floor f, f - log(1 + f - v) below but never less than f - `MOST_BELOW`, and the slope.

    A pair far below the others is a slip of the instrument, or lies where the model is still wrong.
    Either way it must not outvote the rest.
    """
    below = np.maximum(floor - np.nan_to_num(value, nan=-1e30, neginf=-1e30), 0.0)
    return np.where(below > 0, floor - np.minimum(np.log1p(below), MOST_BELOW), value), 1 / (1 + below)


def _capped(size: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """A factor for pairs below the floor: no gradient of theirs may exceed ten times the usual one."""
    finite = np.isfinite(size)
    usual = np.median(size[finite]) if finite.any() else 0.0
    factor = np.where(finite, np.minimum(1.0, 10 * usual / np.where(finite & (size > 0), size, 1.0)), 0.0)
    return np.where((slope < 1) | ~finite, factor, 1.0)


def in_chunks(function, *arrays):
    """A function of one pair over all of them, some at once."""
    chunked = jax.tree.map(lambda a: a.reshape(-1, CHUNK, *a.shape[1:]), arrays)
    found = jax.lax.map(lambda chunk: jax.vmap(function)(*chunk), chunked)
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), found)


@compiled
def _values(chosen, frozen, likelihood, pairs):
    dynamics = eqx.combine(chosen, frozen)
    return in_chunks(lambda *pair: likelihood.log_density(dynamics, *pair), *pairs)


@compiled
def gradients_of(chosen, frozen, likelihood, pairs):
    """Of every pair: the log-density, its gradient, and the size of that."""

    def one(chosen, *pair):
        return likelihood.log_density(eqx.combine(chosen, frozen), *pair)

    def with_gradient(*pair):
        value, found = jax.value_and_grad(one)(chosen, *pair)
        gradient = ravel_pytree(found)[0]
        return value, gradient, jnp.max(jnp.abs(gradient))

    return in_chunks(with_gradient, *pairs)


@compiled
def _whitened(chosen, frozen, likelihood, pairs):
    dynamics = eqx.combine(chosen, frozen)

    return tuple(in_chunks(lambda *pair: likelihood.as_euler_steps(dynamics, *pair), *pairs))
