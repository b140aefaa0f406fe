"""Drift and noise without structure: fields found by regression, which V, sigma and W then have to meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import jax
import jax.numpy as jnp
import numpy as np

from .._programs import compiled
from ..components import HermiteProducts
from ..data import Transitions

MOST_TERMS, HIGHEST, CHUNK = 500, 6, 8192
# Variances are believed down to this share of their mean.
LEAST = 0.05


@dataclass(frozen=True)
class Polynomial:
    """p(z) = sum_k c_k phi_k(z) over all products phi_k of Hermite's polynomials up to a degree.

    Attributes:
        basis: The phi_k.
        coefficients: c_k, a row each.
    """

    basis: HermiteProducts
    coefficients: np.ndarray

    @property
    def degree(self) -> int:
        """The highest."""
        return self.basis.degree

    @classmethod
    def of(cls, states: np.ndarray, values: np.ndarray, degree: int) -> "Polynomial":
        """Least squares, chunk by chunk; the sums are in double precision."""
        basis, gram, right = HermiteProducts(states.shape[1], degree), 0.0, 0.0
        for first in range(0, len(states), CHUNK):
            part = slice(first, first + CHUNK)
            sums = _normal_equations(basis, *_padded(states[part], values[part]))
            gram, right = gram + np.asarray(sums[0], np.float64), right + np.asarray(sums[1], np.float64)
        gram += 1e-9 * np.trace(gram) / len(basis) * np.eye(len(basis))
        return cls(basis, np.linalg.solve(gram, right))

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """At every state."""
        coefficients, found = jnp.asarray(self.coefficients, jnp.result_type(float)), []
        for first in range(0, len(states), CHUNK):
            chunk = states[first : first + CHUNK]
            values = _evaluated(self.basis, coefficients, _padded(chunk)[0])
            found.append(np.asarray(values, np.float64)[: len(chunk)])
        return np.concatenate(found)


@dataclass(frozen=True)
class FreeFields:
    """f(z) and M(z) of one part of the data: the mean of an increment is f dt, its covariance 2 M dt."""

    drift: Polynomial
    variance: Polynomial

    def root(self, states: np.ndarray) -> np.ndarray:
        """The lower triangular sigma with sigma sigma^T = 2 M at every state, M being kept positive."""
        D = self.drift.coefficients.shape[1]
        rows, columns = np.tril_indices(D)
        P = np.zeros((len(states), D, D))
        P[:, rows, columns] = self.variance(states)
        P[:, columns, rows] = P[:, rows, columns]
        values, vectors = np.linalg.eigh(P)
        least = LEAST * np.mean(values, axis=1, keepdims=True).clip(1e-12)
        return np.linalg.cholesky((vectors * np.maximum(values, least)[:, None]) @ vectors.transpose(0, 2, 1))


def free_fields(parts: Sequence[Transitions]) -> list[FreeFields]:
    """Of every part, in polynomials of the degrees that the data of the other parts call for."""
    states = [part.start for part in parts]
    drifts = _polynomials(states, [part.increment / part.dt[:, None] for part in parts])
    squares = []
    for part, drift in zip(parts, drifts, strict=True):
        noise = (part.increment - drift(part.start) * part.dt[:, None]) / np.sqrt(part.dt)[:, None]
        rows, columns = np.tril_indices(noise.shape[1])
        squares.append((noise[:, rows] * noise[:, columns]).astype(np.float32))
    variances = _polynomials(states, squares)
    return [FreeFields(*each) for each in zip(drifts, variances, strict=True)]


def _polynomials(states: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> list[Polynomial]:
    """One a part, all of one degree.

    A degree comes in when it would explain the data of the following part better if it were free of noise, by
    three standard errors over all parts: every coefficient costs 1 / n of the variance that is left there,
    which is put back. Products of independent parts are free of that noise, but not of what a low degree
    leaves out. One failure may be a symmetry; two end the search.
    """
    (n, D), outputs, found, least = states[0].shape, values[0].shape[1], [], None
    spread = values[0].std(axis=0)
    for degree in range(HIGHEST + 1):
        if degree > 1 and comb(D + degree, degree) > min(MOST_TERMS, n // 20):
            break
        tried = [Polynomial.of(*part, degree) for part in zip(states, values, strict=True)]
        left = np.concatenate(
            [
                np.sum(((values[k] - tried[k - 1](states[k])) / spread) ** 2, axis=1)
                for k in range(len(states))
            ]
        )
        left -= len(tried[0].basis) / n * left.mean()
        if least is None:
            found, least = tried, left
            continue
        more, gain = tried[0].coefficients.size - found[0].coefficients.size, least - left
        # A needless coefficient brings 1 + 2 g h - g^2 with unit normal g, h. That has the variance 6, which
        # the data would understate where their own g is small.
        chance = (6 * more / len(states)) ** 0.5 / n * left.mean() / outputs
        if gain.mean() > 3 * max(chance, gain.std() / len(gain) ** 0.5):
            found, least = tried, left
        elif degree > found[0].degree + 1:
            break
    return found


def _padded(*arrays: np.ndarray):
    """Chunks of one length, so that one program serves all; what is added counts nothing."""
    missing = CHUNK - len(arrays[0])
    weights = np.concatenate([np.ones(len(arrays[0])), np.zeros(missing)])
    filled = [np.concatenate([each, np.zeros((missing, each.shape[1]))]) for each in arrays]
    return [jnp.asarray(each, jnp.result_type(float)) for each in (*filled, weights)]


@compiled
def _normal_equations(basis: HermiteProducts, states, values, weights):
    X = jax.vmap(basis)(states) * weights[:, None]
    return X.T @ X, X.T @ values


@compiled
def _evaluated(basis: HermiteProducts, coefficients, states):
    return jax.vmap(basis)(states) @ coefficients
