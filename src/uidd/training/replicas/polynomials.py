"""V, M and f as polynomials, found several times over from independent data by linear algebra alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import jax
import jax.numpy as jnp
import numpy as np

from ..._checks import fail
from ..._programs import compiled
from ...components import HermiteProducts
from ...data import Scaling, Transitions
from ...thermodynamics.variational_form import normal_equations
from ..regression.free_fields import Features, FreeFields, Regression, free_fields

HIGHEST, MOST_TERMS, MOST_STATES, CHUNK = 6, 500, 16_384, 2048


@dataclass(frozen=True)
class PolynomialReplicas:
    """f, M and V of the same system, each found from a part of the data that the others did not see.

    Attributes:
        scaling: To the unit-size coordinates in which the polynomials are written.
        fields: f and M, one a part.
        potentials: V, one a part.
    """

    scaling: Scaling
    fields: tuple[FreeFields, ...]
    potentials: tuple[Regression, ...]

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def degrees(self) -> tuple[int, int, int]:
        """Of f, M and V."""
        first = self.fields[0]
        return first.drift.degree, first.variance.degree, self.potentials[0].degree

    def currents(self, states: np.ndarray) -> np.ndarray:
        """root^-1 f_irr of every part at every state `(K, n, D)`, with root root^T the mean of all M.

        f_irr = f + M grad V - div M. The mean square of what is returned is the entropy production.
        """
        f_irr, M = self._irreversible(self.scaling.to_unit(states))
        return np.linalg.solve(np.linalg.cholesky(M), f_irr[..., None])[..., 0] / self.scaling.time**0.5

    def forces(self, states: np.ndarray) -> np.ndarray:
        """M^-1 f_irr of every part at every state `(K, n, D)`, M the mean of all: its work is entropy."""
        f_irr, M = self._irreversible(self.scaling.to_unit(states))
        return np.linalg.solve(M, f_irr[..., None])[..., 0] / np.asarray(self.scaling.scale)

    def _irreversible(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, mean = [], np.zeros(())
        for fields, potential in zip(self.fields, self.potentials, strict=True):
            h, root = _force(fields, unit)
            found.append(h + _products(root, _slopes(potential, unit)))
            mean = mean + root @ root.transpose(0, 2, 1) / len(self)
        return np.stack(found), mean

    def score_gaps(self, states: np.ndarray, noise: float) -> np.ndarray:
        """grad L - grad V = -f / M_0 - grad V of every part `(K, n, D)`, with M_0 = noise / 2."""
        unit, scale, time = self.scaling.to_unit(states), np.asarray(self.scaling.scale), self.scaling.time
        return np.stack(
            [
                -fields.drift(unit) * scale / (time * noise / 2) - _slopes(potential, unit) / scale
                for fields, potential in zip(self.fields, self.potentials, strict=True)
            ]
        )

    def variances(self, states: np.ndarray) -> np.ndarray:
        """The mean variance per unit time, 2 M_dd, of every coordinate, from every part `(K, D)`."""
        unit, scale = self.scaling.to_unit(states), np.asarray(self.scaling.scale)
        squares = [np.mean(np.sum(_root(fields, unit) ** 2, axis=2), axis=0) for fields in self.fields]
        return np.stack(squares) * scale**2 / self.scaling.time


def fit_polynomial_replicas(parts: Sequence[Transitions]) -> PolynomialReplicas:
    """Find f, M and V from each part of the data, for chains of which one iteration is one Euler step.

    f is the regression of the increments on polynomials, M that of the squares of what f leaves. V is the
    polynomial nearest to -log of the stationary density (`uidd.thermodynamics.variational_form`). Where f is
    linear and M constant a quadratic is exact; elsewhere V gets the highest degree that the states determine.
    Nothing here is iterated or random.

    Args:
        parts: At least two independent sets of pairs.
    """
    if len(parts) < 2:
        fail("parts", "at least two sets of pairs", len(parts))
    scaling = Scaling.of_transitions(parts)
    units = [scaling.transitions_to_unit(part) for part in parts]
    D, n = units[0].start.shape[1], min(len(unit.dt) for unit in units)

    def known(degree: int) -> bool:
        return comb(D + degree, degree) <= min(MOST_TERMS, n // 20)

    fields = [
        FreeFields(_unbiased(own.drift, unit), own.variance)
        for own, unit in zip(free_fields(units, highest=HIGHEST, units=()), units, strict=True)
    ]
    linear = fields[0].drift.degree <= 1 and fields[0].variance.degree == 0
    degree = 2 if linear else max(filter(known, range(2, HIGHEST + 1)), default=2)
    potentials = tuple(_potential(own, unit.start, degree) for own, unit in zip(fields, units, strict=True))
    return PolynomialReplicas(scaling, tuple(fields), potentials)


def _unbiased(drift: Regression, pairs: Transitions) -> Regression:
    """2 c - (c' + c'') / 2 with the coefficients c', c'' of either half of the pairs (Quenouille 1949).

    A regression on the chain's own past is biased by its noise divided by the amount of data, towards a
    faster return. All parts share that bias, so that no product of two of them averages it out.
    """
    rates, middle = pairs.increment / pairs.dt[:, None], len(pairs.dt) // 2
    halves = [
        Regression.of(pairs.start[half], rates[half], drift.degree).coefficients
        for half in (slice(None, middle), slice(middle, None))
    ]
    return Regression(drift.features, 2 * drift.coefficients - (halves[0] + halves[1]) / 2)


def _potential(fields: FreeFields, states: np.ndarray, degree: int) -> Regression:
    """V, from its normal equations."""
    states = states[:: -(-len(states) // MOST_STATES)]
    basis = HermiteProducts(states.shape[1], degree)
    h, root = _force(fields, states)
    terms = len(basis) - 1  # a constant has no gradient
    K, r = np.zeros((terms, terms)), np.zeros(terms)
    for first in range(0, len(states), CHUNK):
        part = slice(first, first + CHUNK)
        sums = _sums(basis, *(_filled(each[part]) for each in (states, h, root)))
        K, r = K + np.asarray(sums[0], np.float64), r + np.asarray(sums[1], np.float64)
    K += 1e-9 * np.trace(K) / terms * np.eye(terms)
    return Regression(Features(basis, None), np.concatenate([[0.0], -np.linalg.solve(K, r)])[:, None])


def _force(fields: FreeFields, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f - div M, and a root of M, at every state."""
    D = states.shape[1]
    rows, columns = np.tril_indices(D)
    gradients = np.zeros((len(states), D, D, D))
    if fields.variance.degree:
        gradients[:, rows, columns] = _gradients(fields.variance, states)
        gradients[:, columns, rows] = gradients[:, rows, columns]
    divergence = np.einsum("nijj->ni", gradients) / 2
    return fields.drift(states) - divergence, _root(fields, states) / 2**0.5


def _root(fields: FreeFields, states: np.ndarray) -> np.ndarray:
    """sigma at every state; where it is constant it is found once."""
    if fields.variance.degree:
        return fields.root(states)
    D = states.shape[1]
    return np.broadcast_to(fields.root(states[:1]), (len(states), D, D))


def _products(root: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """M grad V at every state."""
    return (root @ (root.transpose(0, 2, 1) @ slopes[..., None]))[..., 0]


def _slopes(potential: Regression, states: np.ndarray) -> np.ndarray:
    return _gradients(potential, states)[:, 0]


def _gradients(polynomial: Regression, states: np.ndarray) -> np.ndarray:
    """Of every value at every state, `(n, values, D)`."""
    coefficients, found = jnp.asarray(polynomial.coefficients, jnp.result_type(float)), []
    for first in range(0, len(states), CHUNK):
        chunk = states[first : first + CHUNK]
        values = _evaluated(polynomial.features.products, coefficients, _filled(chunk))
        found.append(np.asarray(values, np.float64)[: len(chunk)])
    return np.concatenate(found)


def _filled(rows: np.ndarray):
    """Up to the length of a chunk with zeros, so that one program serves all."""
    missing = np.zeros((CHUNK - len(rows), *rows.shape[1:]))
    return jnp.asarray(np.concatenate([rows, missing]), jnp.result_type(float))


@compiled
def _sums(basis: HermiteProducts, states, h, root):
    return normal_equations(jax.vmap(basis.gradients)(states)[:, 1:], h, root)


@compiled
def _evaluated(basis: HermiteProducts, coefficients, states):
    return jax.vmap(lambda z: coefficients.T @ basis.gradients(z))(states)
