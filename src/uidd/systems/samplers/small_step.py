"""Least squares by SGLD without sampling: the exact covariance, and what a small step adds to equilibrium."""

from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from math import factorial

import numpy as np

from ..._checks import fail
from .sampler import Sampler

MOST_COORDINATES = 48  # tensors of D^4 numbers are held


@dataclass(frozen=True)
class SmallStep:
    """Leading terms for small steps, both proportional to (step / batch size)^2.

    Attributes:
        entropy_production_rate: E f_irr^T M^-1 f_irr.
        relative_fisher_information: E |grad L - grad V|^2 with e^-L the density of the full batch.
        noise_ratio: The trace of the batch's part of E M over that of the injected noise; the terms are the
            first of a series in it, and good only while it is small.
    """

    entropy_production_rate: float
    relative_fisher_information: float
    noise_ratio: float


def stationary_covariance(sampler: Sampler) -> np.ndarray:
    """C with H C + C H = 2 E M(z), exactly, for the equation of a least-squares sampler at any step.

    M is quadratic in z: E M = T + eps [scale^2 mean of (a^T C a + r^2) a a^T - H C H] needs no other moment
    (r are the residuals at the mean, eps is step / 2b with replacement), and C solves a linear system. For
    the chain itself E M would have (step / 2) H C H more, which is the error of its Euler steps.

    Args:
        sampler: From `sgld_least_squares`, or `sgld` with its force and a constant noise.
    """
    p = _problem(sampler)
    D, rows = len(p.rates), p.rows
    i, j = np.triu_indices(D)
    basis = np.zeros((len(i), D, D))
    basis[np.arange(len(i)), i, j] = basis[np.arange(len(i)), j, i] = 1.0
    spread = np.einsum("ni,pij,nj->pn", rows, basis, rows, optimize=True)
    batch = np.einsum("pn,ni,nj->pij", spread, rows, rows, optimize=True) / len(rows)
    batch -= p.rates[:, None] * basis * p.rates
    system = (p.rates[:, None] + p.rates) * basis - 2 * p.epsilon * batch
    residual = np.einsum("n,ni,nj->ij", p.residuals**2, rows, rows) / len(rows)
    given = 2 * (p.temperature * np.eye(D) + p.epsilon * residual)
    C = np.tensordot(np.linalg.solve(system[:, i, j].T, given[i, j]), basis, 1)
    if not np.linalg.eigvalsh(C)[0] > 0:
        must = "small enough for the variance to stay finite"
        fail("step", must, sampler.step, "Take a smaller step or a larger batch.")
    return p.axes @ C @ p.axes.T


def small_step_limit(sampler: Sampler) -> SmallStep:
    """S = eps^2 min over phi of E |c + grad phi|^2 / T and I = eps^2 E |grad phi|^2 / T^2 at that phi.

    M = T + eps M1 and f = -T grad V0 with V0 = (z - z0)^T H (z - z0) / 2 T; E is over e^-V0. To first order
    f_irr = eps (c + T grad V1) with c = M1 grad V0 - div M1, and div(e^-V0 f_irr) = 0 makes phi = T V1 the
    minimiser. Every field is a sum of Wick powers T_{k...l} :y_k ... y_l: of the unit normal y in the axes of
    H, s their deviations. There -e^V0 div(e^-V0 .) appends an index and divides by its s; so

        c_i = Sym(M1_ij / s_j),  d = Sym(M1_ij / s_i s_j),  phi = -d / sum of 1 / s^2 over the indices of d,

    degree by degree, and E of the square of a Wick power of degree K is K! |T|^2. No sample is drawn.

    Args:
        sampler: From `sgld_least_squares`, or `sgld` with its force and a constant noise.
    """
    p = _problem(sampler)
    D, T = len(p.rates), p.temperature
    if D > MOST_COORDINATES:
        fail("sampler", f"one of at most {MOST_COORDINATES} unknowns", D)
    s = np.sqrt(T / p.rates)
    powers, circulating, gradient = _batch_covariance(p, s), 0.0, 0.0
    for m in powers:
        K = m.ndim
        c = _symmetric(_divided(m, s, [1]), first=1)
        d = _symmetric(_divided(m, s, [0, 1]))
        phi = -d / reduce(np.add.outer, [s**-2] * K)
        slope = K * _divided(phi, s, [0])
        circulating += factorial(K - 1) * np.sum((c + slope) ** 2)
        gradient += factorial(K - 1) * np.sum(slope**2)
    return SmallStep(
        entropy_production_rate=float(p.epsilon**2 * circulating / T),
        relative_fisher_information=float(p.epsilon**2 * gradient / T**2),
        noise_ratio=float(p.epsilon * np.trace(powers[0]) / (T * D)),
    )


@dataclass(frozen=True)
class _Problem:
    """f = -H x, M = T + epsilon Cov[(a . x - r) a] of x = z - z0, in the axes of H = mean of a a^T.

    Attributes:
        axes: Of H, in columns.
        rates: Its eigenvalues.
        rows: a, of shape (n, D), each with a factor sqrt(scale).
        residuals: r = v - a . z0, with the same factor.
        temperature: T.
        epsilon: step / 2 times the share of one datum's covariance that a batch has.
    """

    axes: np.ndarray
    rates: np.ndarray
    rows: np.ndarray
    residuals: np.ndarray
    temperature: float
    epsilon: float


def _problem(sampler: Sampler) -> _Problem:
    if not isinstance(sampler, Sampler) or sampler.least_squares is None:
        must = "one of least squares with constant noise, such as `sgld_least_squares` makes"
        fail("sampler", must, f"a {type(sampler).__name__} with another force")
    A, v = (np.asarray(part, np.float64) * sampler.scale**0.5 for part in sampler.data)
    n, b = len(A), sampler.batch_size
    rates, axes = np.linalg.eigh(A.T @ A / n)
    if not rates[0] > 1e-12 * rates[-1]:
        fail("sampler", "one whose data determine every unknown", f"a matrix of rank below {len(rates)}")
    share = 0.0 if b is None else 1 / b if sampler.replacement else (n - b) / (max(n - 1, 1) * b)
    residuals = v - A @ np.linalg.lstsq(A, v)[0]
    assert not callable(sampler.noise)
    return _Problem(axes, rates, A @ axes, residuals, sampler.noise / 2, sampler.step / 2 * share)


def _batch_covariance(p: _Problem, s: np.ndarray) -> list[np.ndarray]:
    """Cov[(a . x - r) a] = mean of (a . x - r)^2 a a^T - H x x^T H, in Wick powers of y = x / s.

    Of the degrees 0, 1, 2: the first two indices are those of the matrix.
    """
    a, u, r = p.rows, p.rows * s, p.residuals
    outer, n = np.einsum("ni,nj->nij", a, a), len(a)
    h = np.diag(p.rates * s)  # H x = h y
    apart = np.einsum("ik,jl->ijkl", h, h)
    return [
        np.tensordot(r**2 + np.sum(u**2, axis=1), outer, 1) / n - h @ h,
        -2 * np.einsum("n,nij,nk->ijk", r, outer, u, optimize=True) / n,
        np.einsum("nij,nk,nl->ijkl", outer, u, u, optimize=True) / n - (apart + apart.swapaxes(2, 3)) / 2,
    ]


def _divided(tensor: np.ndarray, s: np.ndarray, axes: list[int]) -> np.ndarray:
    """The tensor over s along some axes."""
    for axis in axes:
        tensor = tensor / s.reshape([-1 if k == axis else 1 for k in range(tensor.ndim)])
    return tensor


def _symmetric(tensor: np.ndarray, first: int = 0) -> np.ndarray:
    """The mean over all orders of the axes from `first` on."""
    kept = list(range(first))
    orders = list(permutations(range(first, tensor.ndim)))
    turned = (tensor.transpose(kept + list(order)) for order in orders)
    return reduce(np.add, turned) / len(orders)
