"""The ensemble: what other data of the same size could have given."""

import numpy as np

from ..models import Coefficients, Ensemble, Model
from .gauss_newton import Solution
from .local_posterior import Factored

COUNT = 64


def draw_ensemble(center: Model, weights: Coefficients, solution: Solution, *, seed: int) -> Ensemble:
    """One Gauss-Newton step from the solution for data with reweighted blocks and a redrawn prior.

    A data set in which block b counts w_b times has the score sum_b w_b g_b, and its solution lies
    (F + L)^-1 sum_b (w_b - 1) g_b away. The w_b - 1 are normal (a bootstrap with smooth weights), and
    orthogonal from row to row, so that fewer rows know the spread as well. Where a prior pulls at the
    coefficients, its centre is drawn from it as well. The spread is then that of the posterior if the model
    is right, and the bootstrap's where the noise is larger than the model believes. The coefficients enter
    almost linearly, so one step is nearly a new fit.
    """
    generator = np.random.default_rng([seed, 7])
    L = solution.prior(weights)
    factor = Factored.of(solution.information + np.diag(L))
    blocks = solution.found.blocks - solution.found.blocks.mean(axis=0)
    repeats = _orthogonal(generator, COUNT, len(blocks))
    pulls = _orthogonal(generator, COUNT, len(L)) * np.where(weights.penalised, np.sqrt(L), 0.0)
    deviations = factor.solve((repeats @ blocks + pulls).T).T
    return Ensemble(center, deviations, _constants(deviations, weights, factor))


def _orthogonal(generator: np.random.Generator, rows: int, size: int) -> np.ndarray:
    """Standard normal numbers whose rows, as far as there is room, are orthogonal."""
    normal = generator.standard_normal((rows, size))
    for first in range(0, rows, size):
        some = normal[first : first + size]
        Q, R = np.linalg.qr(some.T)
        normal[first : first + size] = np.linalg.norm(some, axis=1)[:, None] * (Q * np.sign(np.diag(R))).T
    return normal


def _constants(deviations: np.ndarray, weights: Coefficients, factor: Factored) -> np.ndarray:
    """What is left of the coefficients without a prior once the readouts of their component are given.

    A constant and the mean of the network beside it are known by their sum only. With C the covariance, a the
    constants of a component and b its readouts, what is left of a is a - C_ab C_bb^-1 b.
    """
    kept = np.where(weights.penalised, 0.0, deviations)
    for k in set(weights.component[weights.penalised]):
        own = weights.component == k
        a, b = own & ~weights.penalised, own & weights.penalised
        C = factor.solve(np.eye(len(own))[:, b])
        kept[:, a] -= Factored.of(C[b]).solve(deviations[:, b].T).T @ C[a].T
    return kept
