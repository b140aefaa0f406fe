"""What a fit has taken out of its residuals: as much of the noise as its coefficients could follow."""

from dataclasses import dataclass

import numpy as np

from ..likelihood import EulerMaruyama
from ..models import Coefficients
from .gauss_newton import Solution
from .information import jacobian_of_mean, tamed
from .local_posterior import TIGHTEST, Factored, prior
from .sample import Sample

# Numbers of J that are formed, four bytes each.
MOST_NUMBERS = 10**8
MOST_PAIRS = 16_384


@dataclass(frozen=True)
class Absorbed:
    """The part of the covariance of residuals that a fit has made: on average over noise and prior it is

        -J (F + L)^-1 J^T between pairs that were fitted, and the opposite between pairs that were not,

    with J the derivatives of residuals by coefficients, F = J^T J of all fitted pairs and L the precisions
    of the priors. Without it a flexible model would hide its misfits: where it follows the noise, squares of
    its residuals sum to less than those of white numbers, by as much as a real misfit makes them larger.

    Attributes:
        rows: J of some pairs, `(pairs, D, coefficients)`.
        index: Which of the pairs these are.
        fitted: Which of these were fitted.
        share: How many pairs each stands for.
        factor: F + L of these coefficients.
    """

    rows: np.ndarray
    index: np.ndarray
    fitted: np.ndarray
    share: float
    factor: Factored

    @classmethod
    def of(
        cls, weights: Coefficients, solution: Solution, straight: Sample, fitted: np.ndarray, *, seed: int = 0
    ) -> "Absorbed":
        """From what a fit knows of its coefficients, for some of these pairs, made straight."""
        penalised = weights.penalised
        on = ~(penalised & (np.append(solution.precision, 0.0)[weights.group] >= TIGHTEST))
        L = prior(weights, solution.precision, solution.information)[on]
        factor = Factored.of(solution.information[np.ix_(on, on)] + np.diag(L))
        count, dimension = straight.pairs.start.shape
        most = min(MOST_PAIRS, MOST_NUMBERS // (dimension * len(on)))
        index = np.arange(count)
        if count > most:
            index = np.random.default_rng([seed, 4]).choice(count, most, replace=False)
        rows = jacobian_of_mean(weights, weights.vector, EulerMaruyama(), straight.taken(index))
        rows = np.nan_to_num(rows[:, :, on]) * tamed(rows)[:, None, None].astype(rows.dtype)
        return cls(rows, index, fitted[index], count / len(index), factor)

    def between(self, fields: np.ndarray) -> np.ndarray:
        """What the fit adds to the covariance of sum_n y_nk xi_nd, `(k d, k d)`, y the fields `(n, k)`.

        The square of a sum over all pairs holds products of two pairs and of each with itself. From a sum
        over one pair in s, times s, it would hold the latter s times; from two halves of these, multiplied,
        not at all.
        """
        y, total = fields[self.index], 0.0
        for own, sign in ((self.fitted, -1.0), (~self.fitted, 1.0)):
            if own.any():
                total = total + sign * self._crossed(self.rows[own], y[own])
        return np.asarray(total)

    def _crossed(self, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
        one, other = (self._root(rows[k::2], self.share * y[k::2]) for k in (0, 1))
        product, root = 4 * one.T @ other, one + other
        return (1 - 1 / self.share) * (product + product.T) / 2 + root.T @ root / self.share

    def _root(self, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen = (y.T @ rows.reshape(len(rows), -1)).reshape(-1, rows.shape[-1])
        return self.factor.root_solve(seen.T.astype(np.float64))
