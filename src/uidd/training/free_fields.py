"""Drift and noise without structure: fields that regression finds, with which V, sigma and W then agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ..data import Transitions
from .history import is_better

MOST_TERMS, HIGHEST = 500, 6
# Variances are believed down to this share of their mean.
LEAST = 0.05


@dataclass(frozen=True)
class Polynomial:
    """p(z) = sum_k c_k prod_d h_{n_kd}(z_d) over all products of Hermite's polynomials up to a total degree.

    Attributes:
        degree: The highest.
        coefficients: c_k, a row a term.
    """

    degree: int
    coefficients: np.ndarray

    @classmethod
    def of(cls, states: np.ndarray, values: np.ndarray, degree: int) -> "Polynomial":
        """Least squares."""
        X = _features(states, degree)
        gram = X.T @ X
        gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
        return cls(degree, np.linalg.solve(gram, X.T @ values))

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """At every state."""
        return _features(states, self.degree) @ self.coefficients


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
        kept = np.maximum(values, least)
        return np.linalg.cholesky((vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1))


def free_fields(parts: Sequence[Transitions]) -> list[FreeFields]:
    """Of every part, in polynomials of the degrees that the data of the other parts call for."""
    rates = [part.increment / part.dt[:, None] for part in parts]
    states = [part.start for part in parts]
    drifts = _polynomials(states, rates)
    squares = []
    for part, drift in zip(parts, drifts, strict=True):
        noise = (part.increment - drift(part.start) * part.dt[:, None]) / np.sqrt(part.dt)[:, None]
        rows, columns = np.tril_indices(noise.shape[1])
        squares.append(noise[:, rows] * noise[:, columns])
    variances = _polynomials(states, squares)
    return [FreeFields(*each) for each in zip(drifts, variances, strict=True)]


def _polynomials(states: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> list[Polynomial]:
    """One a part, all of one degree.

    A degree comes in when it explains the data of the following part better, by three standard errors over
    all parts. One failure may be a symmetry; two end the search.
    """
    D, found, least = states[0].shape[1], [], None
    spread = np.concatenate(list(values)).std(axis=0)
    for degree in range(HIGHEST + 1):
        if degree > 1 and comb(D + degree, degree) > min(MOST_TERMS, len(states[0]) // 20):
            break
        tried = [Polynomial.of(*part, degree) for part in zip(states, values, strict=True)]
        left = np.concatenate(
            [
                np.sum(((values[k] - tried[k - 1](states[k])) / spread) ** 2, axis=1)
                for k in range(len(states))
            ]
        )
        if least is None or is_better(least - left):
            found, least = tried, left
        elif degree > found[0].degree + 1:
            break
    return found


def _features(states: np.ndarray, degree: int) -> np.ndarray:
    states = np.asarray(states, np.float64)
    h = [np.ones_like(states), states]
    for n in range(2, degree + 1):
        h.append((states * h[-1] - (n - 1) ** 0.5 * h[-2]) / n**0.5)
    places = [p for k in range(degree + 1) for p in combinations_with_replacement(range(states.shape[1]), k)]
    columns = np.ones((len(places), len(states)))
    for column, place in zip(columns, places, strict=True):
        for d in set(place):
            column *= h[place.count(d)][:, d]
    return columns.T
