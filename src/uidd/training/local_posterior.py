"""The log-posterior around given coefficients, as a quadratic: its maximum and its evidence."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize

from ..models import Coefficients

# Relative to the usual precision, and by itself.
LOOSEST, TIGHTEST = 1e-3, 1e8
# Beyond this multiple of the usual precision a group counts as taken out.
MEANINGLESS = 1e6
# In nats: how much the data must gain by a group of sigma or W, whose noise would pass for dissipation.
DOUBT = 9.0
# Sets of falling places that are tried before the exact search.
GUESSES = 3


def prior(weights: Coefficients, precision: np.ndarray, information: np.ndarray) -> np.ndarray:
    """The precision of every coefficient."""
    scale = np.diag(information)
    # What the data do not see at all stays where it is.
    free = 1e-9 * scale + np.where(scale < 1e-9 * scale.max(), scale.max(), 0.0)
    return np.where(weights.penalised, np.append(precision, 0.0)[weights.group], free)


@dataclass(frozen=True)
class Factored:
    """A positive matrix, scaled to a unit diagonal and factored: coefficients differ by many decades."""

    scale: np.ndarray
    factor: tuple[np.ndarray, bool]

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Factored":
        """With as small an addition to the diagonal as rounding needs."""
        scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-30))
        unit = matrix * scale[:, None] * scale
        for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
            try:
                return cls(scale, scipy.linalg.cho_factor(unit + jitter * np.eye(len(unit))))
            except scipy.linalg.LinAlgError:
                continue
        raise scipy.linalg.LinAlgError("the information matrix is not positive")

    @property
    def log_determinant(self) -> float:
        """log det of the matrix."""
        return float(2 * np.sum(np.log(np.diag(self.factor[0]))) - 2 * np.sum(np.log(self.scale)))

    @property
    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of matrix^-1, from the factor: a third of the work of solving for it."""
        root, lower = self.factor
        (invert,) = scipy.linalg.get_lapack_funcs(("potri",), (root,))
        return self.scale**2 * np.diag(invert(root, lower=lower)[0])

    def solve(self, right: np.ndarray) -> np.ndarray:
        """matrix^-1 right, for a vector or a matrix."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return scale * scipy.linalg.cho_solve(self.factor, scale * right)

    def root_solve(self, right: np.ndarray) -> np.ndarray:
        """U with U^T U = right^T matrix^-1 right."""
        root, lower = self.factor
        return scipy.linalg.solve_triangular(
            root, self.scale[:, None] * right, trans=0 if lower else 1, lower=lower
        )


@dataclass(frozen=True)
class LocalPosterior:
    """The log-posterior around `center`: score g and information F of the data, what V lacks on the rim.

    Attributes:
        center: The coefficients.
        score: The gradient of the data's log-density there.
        information: F.
        rises: What must not be negative on the rim.
        rise_gradients: Their gradients in the coefficients.
        free: Which coefficients may move.
    """

    center: np.ndarray
    score: np.ndarray
    information: np.ndarray
    rises: np.ndarray
    rise_gradients: np.ndarray
    free: np.ndarray

    def rises_at(self, x: np.ndarray) -> np.ndarray:
        """On the rim, where V is linear in x."""
        return self.rises + self.rise_gradients @ (x - self.center)

    def bowl(self, x: np.ndarray) -> np.ndarray:
        """The second derivatives of what it costs to be too low."""
        falling = self.rise_gradients[self.rises_at(x) < 0]
        return falling.T @ falling

    def height(self, x: np.ndarray, L: np.ndarray) -> float:
        """Relative to the data's log-density at the center."""
        move = x - self.center
        cost = np.sum(np.minimum(self.rises_at(x), 0.0) ** 2) / 2 + x @ (L * x) / 2
        return float(self.score @ move - move @ self.information @ move / 2 - cost)

    def solved(
        self, weights: Coefficients, precision: np.ndarray, pace: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Its maximum, with precisions at the maximum of the evidence.

        A precision becomes no more than `pace` times tighter or looser: far from the solution, what is not
        fitted yet looks like large readouts. If it may become anything, groups are also put in and taken
        out as wholes, which MacKay's iteration alone takes ages to do.
        """
        if not weights.groups:
            return self.maximum(weights, precision)[0], precision
        if pace < np.inf:
            return self._iterated(weights, precision, precision / pace, precision * pace)
        bounds = LOOSEST * weights.usual_precision, TIGHTEST
        x, precision = self._iterated(weights, precision, *bounds)
        best = self.evidence(weights, x, precision)
        for k in np.argsort(-precision / weights.usual_precision):
            other = precision.copy()
            usual = weights.usual_precision[k]
            other[k] = TIGHTEST if precision[k] < MEANINGLESS * usual else usual
            y, other = self._iterated(weights, other, *bounds)
            reached = self.evidence(weights, y, other)
            doubt = DOUBT if weights.group_owner[k] else 0.0
            if reached > best + (doubt if other[k] < precision[k] else -doubt):
                x, precision, best = y, other, reached
        return x, precision

    def evidence(self, weights: Coefficients, x: np.ndarray, precision: np.ndarray) -> float:
        """The log-probability of the data given the precisions, in this quadratic model, up to a constant."""
        L = prior(weights, precision, self.information)
        factor = Factored.of(self.information + self.bowl(x) + np.diag(L))
        own = np.log(L[weights.penalised]).sum()
        return self.height(x, L * weights.penalised) + own / 2 - factor.log_determinant / 2

    def _iterated(
        self, weights: Coefficients, precision: np.ndarray, low, high
    ) -> tuple[np.ndarray, np.ndarray]:
        """MacKay's iteration within bounds."""
        usual, falling, x = weights.usual_precision, self.rises < 0, self.center
        moves = [k for k in range(weights.groups) if self.free[weights.group == k].all()]
        for _ in range(40 if len(x) < 600 else 10):
            x, factor = self.maximum(weights, precision, falling)
            falling = self.rises_at(x) < 0
            spread = factor.inverse_diagonal
            updated = precision.copy()
            for k in moves:
                own = weights.group == k
                determined = own.sum() - precision[k] * spread[own].sum()
                updated[k] = max(determined, 1e-3) / max(np.sum(x[own] ** 2), 1e-30)
            updated = np.clip(np.clip(updated, low, high), LOOSEST * usual, TIGHTEST)
            settled = np.allclose(np.log(updated), np.log(precision), atol=0.02)
            precision = updated
            if settled:
                break
        return x, precision

    def damped(self, weights: Coefficients, precision: np.ndarray, damping: float) -> np.ndarray:
        """The maximum with `damping` times the diagonal of F added to it: Marquardt's step."""
        F = self.information
        return replace(self, information=F + damping * np.diag(np.diag(F))).maximum(weights, precision)[0]

    def maximum(
        self, weights: Coefficients, precision: np.ndarray, falling: np.ndarray | None = None
    ) -> tuple[np.ndarray, Factored]:
        """For given precisions, and the factored matrix there.

        Places on the rim that fall make a term each, and which ones do is a part of the question. A guess,
        and what falls there, is tried first. Otherwise with H the matrix without the rim, A the gradients
        of the rises and H u = g, the pulls l = max(0, -rises) solve l = max(0, c - A H^-1 A^T l), where
        c = -rises(u): a problem of non-negative least squares, |l - c|^2 + |U l|^2 with U^T U = A H^-1 A^T.
        """
        L = prior(weights, precision, self.information)
        pull = np.where(self.free, self.score - L * weights.penalised * self.center, 0.0)
        A = self.rise_gradients * self.free
        falling = self.rises < 0 if falling is None else falling
        for _ in range(GUESSES):
            x, factor = self._where(falling, A, L, pull)
            now = self.rises_at(x) < 0
            if (now == falling).all():
                return x, factor
            falling = now
        u, factor = self._where(np.zeros_like(falling), A, L, pull)
        c = -self.rises_at(u)
        stacked = np.concatenate([np.eye(len(c)), factor.root_solve(A.T)])
        pulls, _ = scipy.optimize.nnls(stacked, np.concatenate([c, np.zeros(len(L))]), maxiter=10_000)
        return self._where(pulls > 0, A, L, pull)

    def _where(self, falling: np.ndarray, A: np.ndarray, L: np.ndarray, pull: np.ndarray):
        """The maximum if these places fall."""
        H = self.information + np.diag(L)
        if not self.free.all():
            H = np.where(self.free[:, None] & self.free, H, 0.0) + np.diag(np.where(self.free, 0.0, 1.0))
        H = H + A[falling].T @ A[falling]
        factor = Factored.of(H)
        return self.center + factor.solve(pull - A[falling].T @ self.rises[falling]), factor
