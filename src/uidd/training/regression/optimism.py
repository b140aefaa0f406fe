"""What a fit has taken out of its residuals: as much of the noise as its coefficients could follow."""

from dataclasses import dataclass

import numpy as np

from ...likelihood import EulerMaruyama
from ...models import Coefficients
from ..solvers.fisher_information import capped, jacobian_of_mean
from ..solvers.local_posterior import TIGHTEST, Factored, prior
from ..solvers.posterior import Solution
from ..solvers.sample import Sample

# Numbers of J that are formed, four bytes each.
MOST_NUMBERS = 10**8
MOST_PAIRS = 16_384
# Of coefficients: a mean of squares of these is off by an eighth of their noise.
DRAWS = 64
# Of the information about each coefficient: combinations of which less is known are lost in J's round-off.
ROUND_OFF = 1e-5
# Of the precision of the prior: a coefficient of which the data say less is not followed.
UNSEEN = 0.01


@dataclass(frozen=True)
class Optimism:
    """What a fit may have followed of the noise, J x for draws x of its coefficients.

    The covariance of the residuals that a fit has made is, on average over noise and prior,

        -J (F + L)^-1 J^T between pairs that were fitted, and the opposite between pairs that were not,

    with J the derivatives of residuals by coefficients, F = J^T J of all fitted pairs and L the precisions
    of the priors; so it is minus, or plus, that of J x with x of covariance (F + L)^-1. Without it a flexible
    model would hide its misfits: its residuals hold less than white numbers, by as much as a misfit adds.

    Attributes:
        moves: J x of some pairs, `(pairs, D, draws)`.
        held_back: What the priors keep the coefficients from following, `(pairs, D)`, as far as these tell: a
            fit ends where J^T xi = L theta, so the part of xi in the range of J is J F^-1 L theta.
        index: Which of the pairs these are, in order.
        fitted: Which of these were fitted.
        share: How many pairs each stands for.
    """

    moves: np.ndarray
    held_back: np.ndarray
    index: np.ndarray
    fitted: np.ndarray
    share: float

    @classmethod
    def of(
        cls,
        coefficients: Coefficients,
        solution: Solution,
        euler_pairs: Sample,
        fitted: np.ndarray,
        total: int,
        *,
        seed: int = 0,
    ) -> "Optimism":
        """By a fit to some of these pairs, as Euler pairs, and to others, `total` of them."""
        penalised = coefficients.penalised
        on = ~(penalised & (np.append(solution.precision, 0.0)[coefficients.group] >= TIGHTEST))
        L = prior(coefficients, solution.precision, solution.information)[on]
        count, dimension = euler_pairs.pairs.start.shape
        most = min(MOST_PAIRS, MOST_NUMBERS // (dimension * len(on)))
        generator, index = np.random.default_rng([seed, 4]), np.arange(count)
        if count > most:
            index = np.sort(generator.choice(count, most, replace=False))
        rows = jacobian_of_mean(coefficients, coefficients.vector, EulerMaruyama(), euler_pairs.taken(index))
        rows = np.nan_to_num(rows[:, :, on]) * capped(rows)[:, None, None].astype(rows.dtype)
        pull = L * (coefficients.vector * penalised)[on]
        share = count / len(index)
        return cls.drawn(rows, L, pull, index, fitted[index], share=share, total=total, generator=generator)

    @classmethod
    def drawn(
        cls,
        rows: np.ndarray,
        L: np.ndarray,
        pull: np.ndarray,
        index: np.ndarray,
        fitted: np.ndarray,
        *,
        share: float,
        total: int,
        generator: np.random.Generator,
    ) -> "Optimism":
        """From J of some pairs, `(pairs, D, coefficients)`, and the priors.

        Args:
            rows: J.
            L: Precisions of the priors.
            pull: L theta.
            index: Which of the pairs these are.
            fitted: Which of these were fitted.
            share: How many pairs each stands for.
            total: Number of pairs that were fitted.
            generator: Of the draws.
        """
        # Of these very pairs: F of others, or of other coefficients, may not know what these do.
        seen = rows[fitted].reshape(-1, rows.shape[2])
        F = (seen.T @ seen).astype(np.float64) * (total / max(fitted.sum(), 1))
        known = F + np.diag(L)
        factor = Factored.of(known + ROUND_OFF * np.diag(np.diag(known)))
        draws = factor.normal(generator.standard_normal((rows.shape[2], DRAWS)))
        moves = np.asarray(rows @ draws.astype(rows.dtype), np.float64)
        # What the data say next to nothing of was not followed, either.
        seen_well = F + UNSEEN * np.diag(L) + ROUND_OFF * np.diag(np.diag(known))
        held_back = rows @ Factored.of(seen_well).solve(pull).astype(rows.dtype)
        return cls(moves, np.asarray(held_back, np.float64), index, fitted, share)

    @classmethod
    def by_regression(cls, X: np.ndarray, outputs: int, *, seed: int = 0) -> "Optimism":
        """By a regression of residuals of unit covariance on X, `(pairs, features)`."""
        generator, index = np.random.default_rng([seed, 5]), np.arange(len(X))
        if len(X) > MOST_PAIRS:
            index = np.sort(generator.choice(len(X), MOST_PAIRS, replace=False))
        white = generator.standard_normal((X.shape[1], outputs * DRAWS))
        moves = (X[index] @ Factored.of(X.T @ X).normal(white)).reshape(len(index), outputs, DRAWS)
        held_back = np.zeros((len(index), outputs))
        return cls(moves, held_back, index, np.ones(len(index), bool), len(X) / len(index))
