"""The entropy production of an equation whose V nobody knows, as the minimum of a quadratic form."""

from dataclasses import dataclass
from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._checks import fail, numbers, whole_number
from .._programs import compiled
from .._types import State
from ..components import HermiteProducts
from ..dynamics import AbstractEquation, solve_lower
from .records import Estimate
from .variational_form import force_and_root, normal_equations

MOST_TERMS = 4000
CHUNK = 512


@dataclass(frozen=True)
class Minimiser:
    """The polynomial nearest to V, and the rate that goes with it.

    Attributes:
        rate: The entropy production.
        dissipated: f^T M^-1 f and the like, averaged: the rate before anything was subtracted.
        mean: Of the states.
        root: Of their covariance: u = root^-1 (z - mean) has unit covariance.
        degree: Of the polynomial.
        coefficients: Of its terms, products of Hermite's polynomials of u.
    """

    rate: Estimate
    dissipated: float
    mean: np.ndarray
    root: np.ndarray
    degree: int
    coefficients: np.ndarray

    def potential_gradient(self, z: State) -> State:
        """grad of the polynomial, which stands for V where the states are."""
        basis = _Basis.of(self.mean, self.root, self.degree)
        return jnp.asarray(self.coefficients, z.dtype) @ basis.gradients(z)


class _Basis(eqx.Module):
    """Polynomials of u = inverse (z - mean), without the constant."""

    mean: Array
    inverse: Array
    products: HermiteProducts

    @classmethod
    def of(cls, mean: np.ndarray, root: np.ndarray, degree: int) -> "_Basis":
        inverse = np.linalg.inv(root)
        return cls(jnp.asarray(mean), jnp.asarray(inverse), HermiteProducts(len(mean), degree))

    def gradients(self, z: State) -> Float[Array, "p D"]:
        """The gradient of every polynomial, a row each."""
        inverse = self.inverse.astype(z.dtype)
        return self.products.gradients(inverse @ (z - self.mean.astype(z.dtype)))[1:] @ inverse


def variational_entropy_production(
    equation: AbstractEquation, states: np.ndarray, *, degree: int = 4
) -> Minimiser:
    """S = min over phi of E |u + grad phi|_M^2 with u = M^-1 (f - div M), |x|_M^2 = x^T M x.

    With f = -M grad V + div M + f_irr the bracket at phi = V is M^-1 f_irr, and E f_irr . grad phi = 0 for
    every phi because the density is stationary: V is the minimiser, and the minimum the entropy production.
    Only f, M and draws from the stationary density are needed. phi runs over all polynomials up to
    `degree`, so the minimum is approached from above.

    The minimum over states that were also used to find phi is too low, and over other states too high, by
    the same amount to leading order; the mean of the two is taken over both halves.

    Args:
        equation: f and sigma.
        states: Draws from its stationary density `(n, D)`.
        degree: Of the polynomials.
    """
    draws = numbers("states", states, "draws of shape (n, D)")
    if draws.ndim != 2 or len(draws) < 100:
        fail("states", "at least 100 draws of shape (n, D)", f"shape {draws.shape}")
    if not np.isfinite(draws).all():
        fail("states", "finite numbers", "some that are not")
    D = draws.shape[1]
    terms = comb(D + whole_number("degree", degree), D) - 1
    if terms > (most := min(MOST_TERMS, len(draws) // 4)):
        fail("degree", f"one of at most {most} terms for {len(draws)} states", f"{degree}, with {terms}")
    mean, root = draws.mean(axis=0), np.linalg.cholesky(np.cov(draws.T).reshape(D, D))
    basis = _Basis.of(mean, root, degree)
    halves = [_quadratic_form(equation, basis, part) for part in (draws[::2], draws[1::2])]
    values, errors = [], []
    for own, other in (halves, halves[::-1]):
        c = -np.linalg.solve(own.K, own.r)
        values.append((own.value(c) + other.value(c)) / 2)
        errors.append(other.error(c))
    K, r = (halves[0].K + halves[1].K) / 2, (halves[0].r + halves[1].r) / 2
    rate = Estimate(float(np.mean(values)), float(np.hypot(*errors) / 2))
    return Minimiser(
        rate, (halves[0].constant + halves[1].constant) / 2, mean, root, degree, -np.linalg.solve(K, r)
    )


@dataclass(frozen=True)
class _Form:
    """E |u + sum_p c_p grad phi_p|_M^2 = constant + 2 r . c + c^T K c, and the same block by block."""

    constant: float
    r: np.ndarray
    K: np.ndarray
    blocks: list[tuple[float, np.ndarray, np.ndarray]]

    def value(self, c: np.ndarray) -> float:
        return float(self.constant + 2 * self.r @ c + c @ self.K @ c)

    def error(self, c: np.ndarray) -> float:
        found = [constant + 2 * r @ c + c @ K @ c for constant, r, K in self.blocks]
        return float(np.std(found, ddof=1) / len(found) ** 0.5)


def _quadratic_form(equation: AbstractEquation, basis: _Basis, states: np.ndarray) -> _Form:
    """Sums over chunks on the device, added up in double precision; ten blocks for the error."""
    blocks, terms = [], len(basis.products) - 1
    for part in np.array_split(states, 10):
        constant, r, K = 0.0, np.zeros(terms), np.zeros((terms, terms))
        for first in range(0, len(part), CHUNK):
            chunk = part[first : first + CHUNK]
            weights = np.zeros(CHUNK)
            weights[: len(chunk)] = 1.0
            full = np.concatenate([chunk, np.repeat(chunk[:1], CHUNK - len(chunk), axis=0)])
            sums = _sums(equation, basis, jnp.asarray(full), jnp.asarray(weights))
            one, two, three = (np.asarray(each, np.float64) for each in sums)
            constant, r, K = constant + float(one), r + two, K + three
        blocks.append((constant / len(part), r / len(part), K / len(part)))
    r, K = np.zeros(terms), np.zeros((terms, terms))
    for _, own_r, own_K in blocks:
        r, K = r + own_r / len(blocks), K + own_K / len(blocks)
    return _Form(sum(constant for constant, _, _ in blocks) / len(blocks), r, K, blocks)


@compiled
def _sums(equation, basis, states, weights):
    def one(z):
        h, root = force_and_root(equation, z)
        return basis.gradients(z), h, root, jnp.sum(solve_lower(root, h) ** 2)

    G, h, root, constants = jax.vmap(one)(states)
    # Weights are nought or one.
    K, r = normal_equations(G, weights[:, None] * h, weights[:, None, None] * root)
    return weights @ constants, r, K
