"""Drift and noise without structure: fields that regression finds, and that V, sigma and W have to meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._programs import compiled
from ..._types import State
from ...components import HermiteProducts, Network
from ...data import Transitions

HIGHEST, UNITS, MOST_TERMS = 3, (128,), 300
# Standard errors by which features have to gain.
ENOUGH = 2.0
# Pairs that are looked at together; an accelerator is not full before there are many.
CHUNK, CHUNK_ON_ACCELERATOR = 8192, 65_536
# Variances are believed down to this share of their mean.
LEAST = 0.05


class Features(eqx.Module):
    """All polynomials up to a degree, and drawn units tanh(A z + a) for what they do not follow."""

    products: HermiteProducts
    hidden: tuple[Array, Array] | None

    @classmethod
    def of(cls, dimension: int, degree: int, units: int) -> "Features":
        """Units are steps across the data, the same for every part."""
        hidden = None
        if units:
            drawn = Network.drawn(dimension, 1, units, (1.0,), dense=True)
            hidden = drawn.hidden[0]
        return cls(HermiteProducts(dimension, degree), hidden)

    def __len__(self) -> int:
        return len(self.products) + (0 if self.hidden is None else len(self.hidden[1]))

    def __call__(self, z: State) -> Float[Array, " p"]:
        """At one state."""
        products = self.products(z)
        if self.hidden is None:
            return products
        A, a = self.hidden
        return jnp.concatenate([products, jnp.tanh(z @ A + a)])


@dataclass(frozen=True)
class Regression:
    """y(z) = sum_k c_k phi_k(z), in unit-size coordinates.

    Attributes:
        features: The phi_k.
        coefficients: c_k, a row each.
    """

    features: Features
    coefficients: np.ndarray

    @property
    def degree(self) -> int:
        """Of the polynomials."""
        return self.features.products.degree

    @property
    def units(self) -> int:
        """The number of drawn units."""
        return len(self.features) - len(self.features.products)

    @classmethod
    def of(cls, states: np.ndarray, values: np.ndarray, degree: int, units: int = 0) -> "Regression":
        """Least squares of values at states."""
        data, features = Chunks.of(states, values), Features.of(states.shape[1], degree, units)
        return cls.of_chunks(data, features, gram_matrix(features, data))

    @classmethod
    def of_chunks(cls, data: "Chunks", features: Features, gram: np.ndarray) -> "Regression":
        """The same, with X^T X of the features X."""
        with jax.enable_x64(True):
            right = np.asarray(_right_sides(features, data)).sum(axis=0)
        return cls(features, np.linalg.solve(gram, right))

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """At every state."""
        data = Chunks.of(np.asarray(states), np.zeros((len(states), 0)))
        values = np.asarray(_values(self.features, self._on_device, data), np.float64)
        return values.reshape(-1, values.shape[-1])[: len(states)]

    def squares(self, data: "Chunks", spread: np.ndarray, count: int) -> np.ndarray:
        """|(y - y(z)) / spread|^2 of every pair."""
        found = _squares(self.features, self._on_device, data, jnp.asarray(spread, jnp.result_type(float)))
        return np.asarray(found, np.float64).ravel()[:count]

    @property
    def _on_device(self) -> Array:
        return jnp.asarray(self.coefficients, jnp.result_type(float))


def gram_matrix(features: Features, data: "Chunks") -> np.ndarray:
    """X^T X, in double precision: units and polynomials are nearly the same here and there."""
    with jax.enable_x64(True):
        gram = np.asarray(_grams(features, data)).sum(axis=0)
    return gram + 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))


class Chunks(NamedTuple):
    """States, values and weights in chunks of one length; what fills the last one has no weight."""

    states: Float[Array, "k n D"]
    values: Float[Array, "k n m"]
    weights: Float[Array, "k n"]

    @classmethod
    def of(cls, states: np.ndarray, values: np.ndarray) -> "Chunks":
        """Copy to the device."""
        length = CHUNK if jax.default_backend() == "cpu" else CHUNK_ON_ACCELERATOR
        count = -(-len(states) // length)
        missing = count * length - len(states)

        def cut(array: np.ndarray) -> Array:
            filled = np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])
            return jnp.asarray(filled.reshape(count, length, *array.shape[1:]), jnp.result_type(float))

        return cls(cut(states), cut(values), cut(np.ones(len(states), np.float32)))


@dataclass(frozen=True)
class FreeFields:
    """f(z) and M(z) of one part of the data: the mean of an increment is f dt, its covariance 2 M dt."""

    drift: Regression
    variance: Regression

    def root(self, states: np.ndarray) -> np.ndarray:
        """The lower triangular sigma with sigma sigma^T = 2 M at every state, M being kept positive."""
        D = self.drift.coefficients.shape[1]
        rows, columns = np.tril_indices(D)
        P = np.zeros((len(states), D, D))
        P[:, rows, columns] = self.variance(states)
        P[:, columns, rows] = P[:, rows, columns]
        chunks = range(0, len(P), CHUNK)
        return np.concatenate([_positive_root(P[k : k + CHUNK]) for k in chunks]) if len(P) else P


def _positive_root(P: np.ndarray) -> np.ndarray:
    """Cholesky factors, of matrices whose eigenvalues are at least a share of their mean."""
    D = P.shape[1]
    least = LEAST * (np.trace(P, axis1=1, axis2=2) / D).clip(1e-12)[:, None]
    try:  # most often there is nothing to raise, and this costs a tenth of eigenvalues
        np.linalg.cholesky(P - least[..., None] * np.eye(D))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(P)
        P = (vectors * np.maximum(values, least)[:, None]) @ vectors.transpose(0, 2, 1)
    return np.linalg.cholesky(P)


def free_fields(
    parts: Sequence[Transitions], *, highest: int = HIGHEST, units: Sequence[int] = UNITS
) -> list[FreeFields]:
    """Of every part, with the features that the data of the other parts call for.

    Args:
        parts: Independent sets of pairs, in unit-size coordinates.
        highest: Degree to try.
        units: Numbers of drawn units to try beside the polynomials.
    """
    states = [part.start for part in parts]
    # Drift and noise are tried with the same features, and a Gram matrix costs more than all the rest.
    grams: dict[tuple[int, int], list[np.ndarray]] = {}
    levels = [*((degree, 0) for degree in range(highest + 1)), *((None, number) for number in units)]
    drifts = _regressions(states, [part.increment / part.dt[:, None] for part in parts], levels, grams)
    squares = []
    for part, drift in zip(parts, drifts, strict=True):
        noise = (part.increment - drift(part.start) * part.dt[:, None]) / np.sqrt(part.dt)[:, None]
        rows, columns = np.tril_indices(noise.shape[1])
        squares.append((noise[:, rows] * noise[:, columns]).astype(np.float32))
    variances = _regressions(states, squares, levels, grams)
    return [FreeFields(*each) for each in zip(drifts, variances, strict=True)]


def _regressions(
    states: Sequence[np.ndarray],
    values: Sequence[np.ndarray],
    levels: Sequence[tuple[int | None, int]],
    grams: dict[tuple[int, int], list[np.ndarray]],
) -> list[Regression]:
    """One a part, all with the same features: degree after degree, then units beside the best of them.

    Features come in when they would explain the data of the following part better if they were free of noise,
    by two standard errors over all parts: every coefficient costs 1 / n of the variance that is left there,
    which is put back. Products of independent parts are free of that noise, but not of what is left out. One
    failure of a degree may be a symmetry; two end the search for one.
    """
    D, spread = states[0].shape[1], values[0].std(axis=0)
    count = min(len(each) for each in states)
    data = [Chunks.of(*part) for part in zip(states, values, strict=True)]
    found: list[Regression] = []
    least, failures = np.inf, 0
    for degree, units in levels:
        features = Features.of(D, found[0].degree if degree is None else degree, units)
        too_many = degree != 0 and len(features) > min(MOST_TERMS, count // 20)
        if too_many or (failures == 2 and not units):
            continue
        key = (features.products.degree, units)
        if key not in grams:
            grams[key] = [gram_matrix(features, part) for part in data]
        tried = [
            Regression.of_chunks(part, features, gram) for part, gram in zip(data, grams[key], strict=True)
        ]
        left = np.concatenate(
            [tried[k - 1].squares(data[k], spread, len(states[k])) for k in range(len(states))]
        )
        left -= len(features) / count * left.mean()
        if not found or _gained(least - left, left.mean(), tried[0], found[0], count, len(states)):
            found, least, failures = tried, left, 0
        else:
            failures += 1
    return found


def _gained(gain: np.ndarray, left: float, new: Regression, old: Regression, count: int, parts: int) -> bool:
    """Whether the mean gain is `ENOUGH` of its standard errors.

    A needless coefficient brings 1 + 2 g h - g^2 with unit normal g, h. That has the variance 6, which the
    data would understate where their own g is small.
    """
    more, outputs = new.coefficients.size - old.coefficients.size, new.coefficients.shape[1]
    chance = (6 * more / parts) ** 0.5 / count * left / outputs
    return bool(gain.mean() > ENOUGH * max(chance, gain.std() / len(gain) ** 0.5))


@compiled
def _grams(features: Features, data: Chunks):
    def of(chunk):
        X = (jax.vmap(features)(chunk.states) * chunk.weights[:, None]).astype(jnp.float64)
        return X.T @ X

    return jax.lax.map(of, data)


@compiled
def _right_sides(features: Features, data: Chunks):
    def of(chunk):
        X = (jax.vmap(features)(chunk.states) * chunk.weights[:, None]).astype(jnp.float64)
        return X.T @ chunk.values.astype(jnp.float64)

    return jax.lax.map(of, data)


@compiled
def _values(features: Features, coefficients, data: Chunks):
    return jax.lax.map(lambda chunk: jax.vmap(features)(chunk[0]) @ coefficients, data)


@compiled
def _squares(features: Features, coefficients, data: Chunks, spread):
    def of(chunk):
        states, values, _ = chunk
        return jnp.sum(((values - jax.vmap(features)(states) @ coefficients) / spread) ** 2, axis=1)

    return jax.lax.map(of, data)
