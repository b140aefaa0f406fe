"""The Fisher information: how well the data could know each coefficient."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ..._programs import compiled
from ...likelihood import AbstractGaussian, AbstractLikelihood, EulerMaruyama
from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from .sample import SEGMENT, Sample
from .scores import CHUNK, gradients_of, in_chunks

# Of the Jacobian of one transition's mean and covariance that are formed at once.
MOST_ROWS = 9
# Rows of J for every coefficient: what J^T J says of any direction is then off by a quarter at most, since
# eigenvalues of a sum of n rows of p numbers scatter by 2 (p / n)^(1/2), and a step leaves the square of
# that. And products in all.
ROWS_EACH, MOST_PRODUCTS = 64, 2 * 10**11
# Pairs whose rows are formed, for each one whose rows are multiplied: as long as forming takes less.
FORMED = 4
# Of pairs that are formed. Every one is drawn by itself, so their number is off by some ninety: this many
# nearly always fill one call.
FEWEST_FORMED = SEGMENT - 400


def fisher(
    coefficients: Coefficients,
    vector: np.ndarray,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    seed: int,
    rows_each: int = ROWS_EACH,
    of: str | None = None,
) -> np.ndarray:
    """The information matrix E[g g^T], summed over pairs, where next states are the model's own.

    Under the recorded ones g g^T would be as large where the model is still wrong, and steps too small
    there, and noisy elsewhere. For a Gaussian density it is known, J^T J; in many dimensions J is seen
    through some random combinations of its rows, and for other densities next states are drawn.

    Some pairs are enough, if those where few start and those that tell most are among them: each stands for
    as many as were passed over in its favour. Among pairs as they come, a coefficient that few pairs know
    would seem unknown, and steps would be wrong.

    Args:
        coefficients: The coefficients.
        vector: Their values.
        likelihood: The transition density.
        data: Pairs.
        seed: Of the pairs that are looked at.
        rows_each: Of J for every coefficient.
        of: The component whose coefficients are asked about; the rows of others stay zero. All by default.
    """
    chosen, key = coefficients.unravelled(vector), jax.random.key(seed)
    columns, generator = _columns(coefficients, of), np.random.default_rng([seed, 1])
    enough = _pairs_of_information(len(columns), rows_each, likelihood, data)
    seen, stands_for = data.evenly(FORMED * enough, generator)
    order = generator.permutation(len(seen))  # each segment is then like all of them
    seen, stands_for = seen.taken(order), stands_for[order]
    # One size for nearly all data: compiled once.
    size = SEGMENT if 2 * len(seen) > SEGMENT else CHUNK * -(-len(seen) // CHUNK)

    def squares(pairs, which: slice) -> list[tuple[slice, np.ndarray]]:
        """J^T J of a segment, and the coefficients that it is about."""
        (start, _, dt), index, count = pairs, which.start // size, which.stop - which.start
        keys = jax.random.split(jax.random.fold_in(key, index), size)
        chance, most = np.random.default_rng([seed, 2, index]), enough * count / len(seen)
        share = np.append(stands_for[which], np.zeros(size - count))  # what fills it up stands for none

        def squared(rows: np.ndarray) -> np.ndarray:
            return _squared(*_most_informative(rows, share, most, chance))

        if not isinstance(likelihood, AbstractGaussian):
            drawn = _drawn(chosen, coefficients.frozen, likelihood, start, dt, keys)
            rows = gradients_of(chosen, coefficients.frozen, likelihood, (start, drawn, dt))[1]
            return [(slice(None), squared(np.asarray(rows)[:, None]))]
        found = []
        for first, last, made in _parts_of_rows(coefficients, likelihood, start.shape[1]):
            begin, end = _common(columns, made)
            if begin < end:
                ends = first, last, made.start, made.stop
                rows = np.asarray(_rows(chosen, coefficients.frozen, likelihood, start, dt, keys, *ends))
                found.append((slice(begin, end), squared(rows[:, :, begin - made.start : end - made.start])))
        return found

    total = np.zeros((len(vector), len(vector)))
    for found in seen.each(squares, size):
        for about, part in found:
            total[about, about] += part
    return total


def jacobian_of_mean(
    coefficients: Coefficients, vector: np.ndarray, likelihood: AbstractGaussian, data: Sample
) -> np.ndarray:
    """J of L^-1 m, the mean over the root of the covariance, of every pair, `(pairs, D, p)`."""
    chosen, dimension = coefficients.unravelled(vector), data.pairs.start.shape[1]
    keys = jax.random.split(jax.random.key(0), SEGMENT)
    # In parts that are seen as they are, without random combinations.
    ends = [*range(0, dimension, MOST_ROWS), dimension]

    def of(pairs, which: slice) -> np.ndarray:
        (start, _, dt), count = pairs, which.stop - which.start
        parts = [
            np.asarray(_rows(chosen, coefficients.frozen, likelihood, start, dt, keys, *part, 0, len(vector)))
            for part in pairwise(ends)
        ]
        return np.concatenate(parts, axis=1)[:count]

    return np.concatenate(list(data.each(of)))


def _most_informative(
    rows: np.ndarray, share: np.ndarray, most: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """About `most` of the pairs, half at random and half by what they tell, and how many each stands for.

    What a pair tells is its part of the information about each coefficient, summed over these: a pair that
    alone knows one of p coefficients is always taken, if `most` is 2 p (sampling by leverage, Drineas and
    others 2006, with the diagonal of J^T J in place of all of it).
    """
    count = np.count_nonzero(share)
    if most >= count:
        return rows[share > 0], share[share > 0]
    some = jnp.asarray(rows, jnp.result_type(float)), jnp.asarray(share, jnp.result_type(float))
    part = np.asarray(_information_shares(*some), np.float64)
    q = np.minimum(1.0, most / 2 * ((share > 0) / count + part / max(part.sum(), 1e-30)))
    taken = np.flatnonzero(generator.random(len(rows)) < q)
    return rows[taken], share[taken] / q[taken]


def _squared(rows: np.ndarray, share: np.ndarray) -> np.ndarray:
    """J^T J of all pairs, `(pairs, rows, p)`, each counted `share` times."""
    factor = capped(rows)
    if not factor.all():  # nought times what is not finite is no number
        rows = np.nan_to_num(rows)
    # In double precision: directions that the data hardly see must not turn negative.
    flat = np.multiply(rows, (np.sqrt(share) * factor)[:, None, None], dtype=np.float64)
    flat = flat.reshape(-1, rows.shape[-1])
    return flat.T @ flat


def capped(rows: np.ndarray) -> np.ndarray:
    """A factor for the rows of every pair: 1, but where they are far larger than usual, or 0 if not finite.

    Where the model is still far off, one pair must not seem to know more than all others together.
    """
    largest = np.maximum(rows.max(axis=(1, 2), initial=0.0), -rows.min(axis=(1, 2), initial=0.0))
    finite = np.isfinite(largest)
    usual = 100 * np.median(largest[finite]) if finite.any() else 1.0
    return np.where(finite, np.minimum(1.0, usual / np.maximum(largest, 1e-30)), 0.0)


def _columns(coefficients: Coefficients, component: str | None) -> range:
    """The coefficients of a component, which follow each other, or all."""
    if component is None:
        return range(len(coefficients.component))
    own = np.flatnonzero(coefficients.component == COMPONENTS.index(component))
    return range(int(own[0]), int(own[-1]) + 1) if len(own) else range(0)


def _parts_of_rows(coefficients: Coefficients, likelihood: AbstractGaussian, dimension: int):
    """Where rows of J begin and end, and the columns in which these are not zero.

    Of Euler's density sigma alone makes the covariance, whose rows are most of J.
    """
    rows = dimension + dimension * (dimension + 1) // 2
    everything = _columns(coefficients, None)
    if not isinstance(likelihood, EulerMaruyama):
        return [(0, rows, everything)]
    return [(0, dimension, everything), (dimension, rows, _columns(coefficients, "diffusion"))]


def _common(one: range, other: range) -> tuple[int, int]:
    return max(one.start, other.start), min(one.stop, other.stop)


def _rows_of(likelihood: AbstractLikelihood, data: Sample) -> int:
    """Of one pair, in all columns: the numbers in mean and covariance, or one draw."""
    dimension = data.pairs.start.shape[1]
    if isinstance(likelihood, EulerMaruyama):
        return dimension
    return dimension + dimension * (dimension + 1) // 2 if isinstance(likelihood, AbstractGaussian) else 1


def _pairs_of_information(p: int, rows_each: int, likelihood: AbstractLikelihood, data: Sample) -> int:
    """How many are multiplied."""
    rows = min(_rows_of(likelihood, data), MOST_ROWS)
    return max(FEWEST_FORMED // FORMED, min(rows_each * p, MOST_PRODUCTS // p**2) // rows)


@compiled
def _information_shares(rows, share):
    """What every pair tells, each counted `share` times: its part of the squares in every column."""
    squares = jnp.nan_to_num(jnp.sum(rows**2, axis=1), posinf=0.0)
    return share * (squares @ (1 / jnp.maximum(share @ squares, 1e-30)))


@compiled
def _drawn(chosen, frozen, likelihood, start, dt, keys):
    dynamics = eqx.combine(chosen, frozen)
    return in_chunks(lambda z, h, k: likelihood.draw(dynamics, z, h, key=k), start, dt, keys)


@compiled
def _rows(chosen, frozen, likelihood, start, dt, keys, first, last, begin, end):
    """J for every pair, `(n, rows, columns)`, where it has many rows some combinations with random signs."""
    rows = last - first

    def one(z, h, key):
        _, root = likelihood.moments(eqx.combine(chosen, frozen), z, h)

        def y(chosen):
            return likelihood.deviations(eqx.combine(chosen, frozen), z, h, root)[first:last]

        pullback = jax.vjp(y, chosen)[1]
        mixed = jnp.eye(rows, dtype=z.dtype)
        if rows > MOST_ROWS:
            mixed = jax.random.rademacher(key, (MOST_ROWS, rows), z.dtype) / MOST_ROWS**0.5
        return jax.vmap(lambda row: ravel_pytree(pullback(row))[0])(mixed)[:, begin:end]

    return in_chunks(one, start, dt, keys)
