"""V, M and f as polynomials, found several times over from independent data by linear algebra alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from ..components import HermiteProducts
from ..data import Scaling, Transitions
from .free_fields import Features, FreeFields, Regression, free_fields

HIGHEST, MOST_TERMS, MOST_STATES, CHUNK = 6, 500, 16_384, 2048


@dataclass(frozen=True)
class PolynomialReplicas:
    """f, M and V of the same system, each found from a part of the data that the others did not see.

    Attributes:
        scaling: To the unit-size coordinates in which the polynomials are written.
        fields: f and M, one a part.
        potentials: V, one a part.
        coarser: V again, as polynomials two degrees lower: what the last degrees changed.
    """

    scaling: Scaling
    fields: tuple[FreeFields, ...]
    potentials: tuple[Regression, ...]
    coarser: tuple[Regression, ...]

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def degrees(self) -> tuple[int, int, int]:
        """Of f, M and V."""
        first = self.fields[0]
        return first.drift.degree, first.variance.degree, self.potentials[0].degree

    def currents(self, states: np.ndarray, *, coarser: bool = False) -> np.ndarray:
        """root^-1 f_irr of every part at every state `(K, n, D)`, with root root^T the mean of all M.

        f_irr = f + M grad V - div M. The mean square of what is returned is the entropy production.
        """
        unit, found, roots = self.scaling.to_unit(states), [], []
        potentials = self.coarser if coarser else self.potentials
        for fields, potential in zip(self.fields, potentials, strict=True):
            h, root = _force(fields, unit)
            found.append(h + _products(root, _slopes(potential, unit)))
            roots.append(root)
        mean = np.mean([root @ root.transpose(0, 2, 1) for root in roots], axis=0)
        return (
            np.linalg.solve(np.linalg.cholesky(mean), np.stack(found)[..., None])[..., 0]
            / self.scaling.time**0.5
        )

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
    polynomial phi that minimises

        E |f - div M + M grad phi|^2 in the metric M^-1 = const + 2 r . c + c^T K c,

    whose minimiser over all functions is -log of the stationary density (see `PotentialStage`, which asks
    networks for the same). Where f is linear and M constant a quadratic is exact; elsewhere V gets the
    highest degree that the states determine. Nothing here is iterated or random.

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
    found = [_potentials(own, unit.start, degree) for own, unit in zip(fields, units, strict=True)]
    finer, coarser = zip(*found, strict=True)
    return PolynomialReplicas(scaling, tuple(fields), finer, coarser)


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


def _potentials(fields: FreeFields, states: np.ndarray, degree: int) -> tuple[Regression, Regression]:
    """V of the degree, and of two less, whose normal equations are a corner of the same."""
    states = states[:: -(-len(states) // MOST_STATES)]
    basis, D = HermiteProducts(states.shape[1], degree), states.shape[1]
    h, root = _force(fields, states)
    K, r = np.zeros((len(basis) - 1, len(basis) - 1)), np.zeros(len(basis) - 1)
    for first in range(0, len(states), CHUNK):
        part = slice(first, first + CHUNK)
        sums = _normal_equations(basis, *(_filled(each[part]) for each in (states, h, root)))
        K, r = K + np.asarray(sums[0], np.float64), r + np.asarray(sums[1], np.float64)

    def solved(degree: int) -> Regression:
        count = comb(D + degree, degree) - 1
        own = K[:count, :count] + 1e-9 * np.trace(K[:count, :count]) / count * np.eye(count)
        coefficients = np.concatenate([[0.0], -np.linalg.solve(own, r[:count])])
        return Regression(Features(HermiteProducts(D, degree), None), coefficients[:, None])

    return solved(degree), solved(max(2, degree - 2))


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
def _normal_equations(basis: HermiteProducts, states, h, root):
    G = jax.vmap(basis.gradients)(states)[:, 1:]
    scaled = jnp.moveaxis(G @ root, 1, 0).reshape(len(basis) - 1, -1)
    return scaled @ scaled.T, jnp.einsum("npd,nd->p", G, h)


@compiled
def _evaluated(basis: HermiteProducts, coefficients, states):
    return jax.vmap(lambda z: coefficients.T @ basis.gradients(z))(states)
