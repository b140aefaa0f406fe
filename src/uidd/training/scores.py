"""Passes over the data: log-densities, their gradients, and how well the data could know each weight."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.flatten_util import ravel_pytree

from .._programs import compiled
from ..data import Transitions
from ..dynamics import solve_lower
from ..likelihood import AbstractGaussian, AbstractLikelihood, EulerMaruyama
from ..models import Coefficients
from ..models.coefficients import COMPONENTS
from .sample import SEGMENT, Sample

# Pairs whose gradients are formed at once.
CHUNK = 512
MOST_BELOW = 10.0
# Pairs so many nats below the median are bent.
BELOW_MEDIAN = 20.0
# Of the Jacobian of one transition's mean and covariance that are formed at once.
MOST_ROWS = 9
# Rows of J for every coefficient: what J^T J says of any direction is then off by a quarter at most, since
# eigenvalues of a sum of n rows of p numbers scatter by 2 (p / n)^(1/2), and a step leaves the square of
# that. And products in all.
ROWS_EACH, MOST_PRODUCTS = 64, 2 * 10**11
FEWEST_PAIRS = 8192


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
    weights: Coefficients, vector: np.ndarray, likelihood: AbstractLikelihood, data: Sample
) -> np.ndarray:
    """The log-density of every pair."""
    if isinstance(likelihood, AbstractGaussian) and not isinstance(likelihood, EulerMaruyama):
        return whitened(weights, vector, likelihood, data).log_densities
    chosen = weights.unravelled(vector)
    return np.concatenate(
        [
            np.asarray(_values(chosen, weights.frozen, likelihood, pairs), np.float64)[:count]
            for pairs, count, _ in data.segments()
        ]
    )


@dataclass(frozen=True)
class Whitened:
    """What a model leaves of the increments.

    Attributes:
        noise: L^-1 (increment - m), white if the model is right, `(n, D)`.
        log_densities: Of every pair.
        straight: Pairs as Euler's scheme would have made them of that noise.
    """

    noise: np.ndarray
    log_densities: np.ndarray
    straight: Sample

    @property
    def height(self) -> float:
        """The sum of the log-densities, each bent where training bends it."""
        return -len(self.log_densities) * loss_of(self.log_densities)


def whitened(
    weights: Coefficients, vector: np.ndarray, likelihood: AbstractGaussian, data: Sample
) -> Whitened:
    """One pass, without gradients.

    Euler's likelihood of the straight pairs has the same solution as the likelihood of the recorded ones up
    to the square of what the drift does to a deviation within one interval: xi is white given the state, so
    the equations for the coefficients are unbiased, and their weights nearly the best ones. It takes a tenth
    of the time.
    """
    chosen, parts = weights.unravelled(vector), []
    for pairs, count, _ in data.segments():
        found = _whitened(chosen, weights.frozen, likelihood, pairs)
        parts.append([np.asarray(part, np.float64)[:count] for part in found])
    noise, log_volume, start, increment = (np.concatenate(part) for part in zip(*parts, strict=True))
    usable = np.isfinite(start + increment).all(axis=1, keepdims=True)
    straight = Transitions(
        np.where(usable, start, data.pairs.start),
        np.where(usable, increment, data.pairs.increment),
        data.pairs.dt,
    )
    density = -np.sum(noise**2, axis=1) / 2 - log_volume
    return Whitened(noise, density, replace(data, pairs=straight))


def mean_loss(
    weights: Coefficients, vector: np.ndarray, likelihood: AbstractLikelihood, data: Sample
) -> float:
    """-(mean log-density), bent."""
    return loss_of(log_densities(weights, vector, likelihood, data))


def loss_of(log_densities: np.ndarray) -> float:
    """-(their mean), each bent where training bends it: one wild pair must not be the mean."""
    return -float(_bent(log_densities, _floor(log_densities))[0].mean())


def _floor(log_densities: np.ndarray) -> float:
    """Twenty nats below the middle: a Gaussian of any dimension has none there."""
    return float(np.nanmedian(log_densities)) - BELOW_MEDIAN


def values(
    weights: Coefficients, vector: np.ndarray, likelihood: AbstractLikelihood, data: Sample, *, floor: float
) -> float:
    """The log-density of all pairs, each bent at `floor`."""
    return float(_bent(log_densities(weights, vector, likelihood, data), floor)[0].sum())


def scores(
    weights: Coefficients,
    vector: np.ndarray,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    floor: float,
) -> Scores:
    """Value and gradient of the log-density, each pair's bent at `floor`."""
    chosen, value, blocks = weights.unravelled(vector), 0.0, np.zeros((data.blocks, len(vector)))
    for pairs, count, block in data.segments():
        found, gradients, size = _scores(chosen, weights.frozen, likelihood, pairs)
        bent, slope = _bent(np.asarray(found, np.float64)[:count], floor)
        value += float(bent.sum())
        gradients, size = np.asarray(gradients)[:count], np.asarray(size)[:count]
        weight = slope * _tamed(size, slope)
        if not np.isfinite(size).all():
            gradients = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
        shape = data.blocks, count
        blocks += scipy.sparse.csr_array((weight, (block, np.arange(count))), shape) @ gradients
    return Scores(value, blocks)


def fisher(
    weights: Coefficients,
    vector: np.ndarray,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    seed: int,
    of: str | None = None,
) -> np.ndarray:
    """The information matrix E[g g^T], summed over pairs, where next states are the model's own.

    Under the recorded ones g g^T would be as large where the model is still wrong, and steps too small
    there, and noisy elsewhere. For a Gaussian density it is known, J^T J; in many dimensions J is seen
    through some random combinations of its rows, and for other densities next states are drawn.

    Some pairs are enough, if those where few start are among them: each stands for as many as were passed
    over in its favour. Among pairs as they come, rare places have so few that the information there is next
    to unknown, and steps go astray.

    Args:
        weights: The coefficients.
        vector: Their values.
        likelihood: The transition density.
        data: Pairs.
        seed: Of the pairs that are looked at.
        of: The component whose coefficients are asked about; the rows of others stay zero. All by default.
    """
    chosen, key = weights.unravelled(vector), jax.random.key(seed)
    total = np.zeros((len(vector), len(vector)))
    columns = _columns(weights, of)
    seen, stands_for = data.evenly(
        _pairs_of_information(len(columns), likelihood, data), np.random.default_rng([seed, 1])
    )
    size = min(SEGMENT, CHUNK * -(-len(seen) // CHUNK))
    for index, (pairs, count, _) in enumerate(seen.segments(size)):
        start, _, dt = pairs
        share = stands_for[index * size : index * size + count]
        keys = jax.random.split(jax.random.fold_in(key, index), size)
        if isinstance(likelihood, AbstractGaussian):
            for first, last, begin, end in _parts_of_rows(weights, columns, likelihood, start.shape[1]):
                rows = _rows(chosen, weights.frozen, likelihood, start, dt, keys, first, last, begin, end)
                total[begin:end, begin:end] += _squared(np.asarray(rows)[:count], share)
        else:
            drawn = _drawn(chosen, weights.frozen, likelihood, start, dt, keys)
            rows = _scores(chosen, weights.frozen, likelihood, (start, drawn, dt))[1][:, None]
            total += _squared(np.asarray(rows)[:count], share)
    return total


def _squared(rows: np.ndarray, share: np.ndarray) -> np.ndarray:
    """J^T J of all pairs, `(pairs, rows, p)`, each counted `share` times."""
    finite = np.isfinite(rows).all(axis=(1, 2))
    rows, share = rows[finite], share[finite]
    # Where the model is still wild, one pair must not seem to know more than all others together.
    largest = np.abs(rows).max(axis=(1, 2), initial=0.0)
    usual = 100 * np.median(largest) if len(largest) else 1.0
    # In double precision: directions that the data hardly see must not turn negative.
    factor = np.sqrt(share) * np.minimum(1.0, usual / np.maximum(largest, 1e-30))
    tame = rows * factor[:, None, None].astype(np.float64)
    flat = tame.reshape(-1, rows.shape[-1])
    return flat.T @ flat


def _columns(weights: Coefficients, component: str | None) -> range:
    """The coefficients of a component, which follow each other, or all."""
    if component is None:
        return range(len(weights.component))
    own = np.flatnonzero(weights.component == COMPONENTS.index(component))
    return range(int(own[0]), int(own[-1]) + 1) if len(own) else range(0)


def _parts_of_rows(weights: Coefficients, columns: range, likelihood: AbstractGaussian, dimension: int):
    """Where rows of J begin and end, and the columns in which these are not zero.

    Of Euler's density sigma alone makes the covariance, whose rows are most of J.
    """
    rows = dimension + dimension * (dimension + 1) // 2
    if not isinstance(likelihood, EulerMaruyama):
        return [(0, rows, columns.start, columns.stop)]
    sigma = _columns(weights, "diffusion")
    parts = [(0, dimension, columns), (dimension, rows, range(*_common(columns, sigma)))]
    return [(first, last, own.start, own.stop) for first, last, own in parts if len(own)]


def _common(one: range, other: range) -> tuple[int, int]:
    return max(one.start, other.start), min(one.stop, other.stop)


def _rows_of(likelihood: AbstractLikelihood, data: Sample) -> int:
    """Of one pair, in all columns: the numbers in mean and covariance, or one draw."""
    dimension = data.pairs.start.shape[1]
    if isinstance(likelihood, EulerMaruyama):
        return dimension
    return dimension + dimension * (dimension + 1) // 2 if isinstance(likelihood, AbstractGaussian) else 1


def _pairs_of_information(p: int, likelihood: AbstractLikelihood, data: Sample) -> int:
    rows = min(_rows_of(likelihood, data), MOST_ROWS)
    enough = min(ROWS_EACH * p, MOST_PRODUCTS // p**2) // rows
    return max(FEWEST_PAIRS, enough)


def _bent(value: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """v above the floor f, f - log(1 + f - v) below but never less than f - `MOST_BELOW`, and the slope.

    A pair far below the others is a slip of the instrument, or lies where the model is still wrong.
    Either way it must not outvote the rest.
    """
    below = np.maximum(floor - np.nan_to_num(value, nan=-1e30, neginf=-1e30), 0.0)
    return np.where(below > 0, floor - np.minimum(np.log1p(below), MOST_BELOW), value), 1 / (1 + below)


def _tamed(size: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """A factor for pairs below the floor: no gradient of theirs may exceed ten times the usual one."""
    finite = np.isfinite(size)
    usual = np.median(size[finite]) if finite.any() else 0.0
    factor = np.where(finite, np.minimum(1.0, 10 * usual / np.where(finite & (size > 0), size, 1.0)), 0.0)
    return np.where((slope < 1) | ~finite, factor, 1.0)


def _in_chunks(function, *arrays):
    chunked = jax.tree.map(lambda a: a.reshape(-1, CHUNK, *a.shape[1:]), arrays)
    found = jax.lax.map(lambda chunk: jax.vmap(function)(*chunk), chunked)
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), found)


@compiled
def _values(chosen, frozen, likelihood, pairs):
    dynamics = eqx.combine(chosen, frozen)
    return _in_chunks(lambda *pair: likelihood.log_density(dynamics, *pair), *pairs)


@compiled
def _scores(chosen, frozen, likelihood, pairs):
    """Of every pair: the log-density, its gradient, and the size of that."""
    vector, unravel = ravel_pytree(chosen)

    def one(vector, *pair):
        return likelihood.log_density(eqx.combine(unravel(vector), frozen), *pair)

    def with_gradient(*pair):
        value, gradient = jax.value_and_grad(one)(vector, *pair)
        return value, gradient, jnp.max(jnp.abs(gradient))

    return _in_chunks(with_gradient, *pairs)


@compiled
def _drawn(chosen, frozen, likelihood, start, dt, keys):
    dynamics = eqx.combine(chosen, frozen)
    return _in_chunks(lambda z, h, k: likelihood.draw(dynamics, z, h, key=k), start, dt, keys)


@compiled
def _rows(chosen, frozen, likelihood, start, dt, keys, first, last, begin, end):
    """J for every pair, `(n, rows, columns)`, where it has many rows some combinations with random signs."""
    vector, unravel = ravel_pytree(chosen)
    rows = last - first

    def one(z, h, key):
        _, root = likelihood.moments(eqx.combine(chosen, frozen), z, h)

        def y(vector):
            return likelihood.deviations(eqx.combine(unravel(vector), frozen), z, h, root)[first:last]

        pullback = jax.vjp(y, vector)[1]
        mixed = jnp.eye(rows, dtype=z.dtype)
        if rows > MOST_ROWS:
            mixed = jax.random.rademacher(key, (MOST_ROWS, rows), z.dtype) / MOST_ROWS**0.5
        return jax.vmap(pullback)(mixed)[0][:, begin:end]

    return _in_chunks(one, start, dt, keys)


@compiled
def _whitened(chosen, frozen, likelihood, pairs):
    dynamics = eqx.combine(chosen, frozen)

    def one(start, increment, dt):
        shift, L = likelihood.moments(dynamics, start, dt)
        xi = solve_lower(L, increment - shift)
        log_volume = jnp.sum(jnp.log(jnp.diag(L))) + len(start) / 2 * jnp.log(2 * jnp.pi)
        return xi, log_volume, *likelihood.straightened(dynamics, start, dt, shift, L, xi)

    return _in_chunks(one, *pairs)
