"""The log-posterior around given coefficients, as a quadratic: its maximum and its evidence."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize

from ...models import Coefficients
from .group_evidence import GroupEvidence

# Relative to the usual precision, and by itself.
LOOSEST, TIGHTEST = 1e-3, 1e8
# Beyond this multiple of the usual precision a group counts as taken out.
SWITCHED_OFF_RATIO = 1e6
# In nats: how much the data must gain by a group of sigma or W, whose noise would pass for dissipation.
LOG_PRIOR_ODDS = 9.0
# Sets of falling places that are tried before the exact search.
GUESSES = 3
# Of all groups in turn; nats that one more sweep must be good for.
SWEEPS, SETTLED = 10, 0.5


def prior(coefficients: Coefficients, precision: np.ndarray, information: np.ndarray) -> np.ndarray:
    """The precision of every coefficient."""
    scale = np.diag(information)
    # What the data do not see at all stays where it is.
    free = 1e-9 * scale + np.where(scale < 1e-9 * scale.max(), scale.max(), 0.0)
    return np.where(coefficients.penalised, np.append(precision, 0.0)[coefficients.group], free)


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

    def solve(self, right: np.ndarray) -> np.ndarray:
        """matrix^-1 right, for a vector or a matrix."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return scale * scipy.linalg.cho_solve(self.factor, scale * right)

    @property
    def log_determinant(self) -> float:
        """log det matrix."""
        return 2 * float(np.log(np.diag(self.factor[0])).sum() - np.log(self.scale).sum())

    def root_solve(self, right: np.ndarray) -> np.ndarray:
        """U with U^T U = right^T matrix^-1 right."""
        root, lower = self.factor
        return scipy.linalg.solve_triangular(
            root, self.scale[:, None] * right, trans=0 if lower else 1, lower=lower
        )

    def normal(self, white: np.ndarray) -> np.ndarray:
        """Columns of covariance matrix^-1, from white ones."""
        root, lower = self.factor
        turned = scipy.linalg.solve_triangular(root, white, trans=1 if lower else 0, lower=lower)
        return self.scale[:, None] * turned


def laplace_volume(
    coefficients: Coefficients, x: np.ndarray, precision: np.ndarray, information: np.ndarray
) -> float:
    """What Laplace's method adds to the log-density at its maximum x, without what is switched off:

        [log det L - log det (F + L) - x L x] / 2, L of the coefficients that have a prior.

    It compares solutions of one model: coefficients without a prior are as wide as you like in all of them.
    """
    L, switched_on = prior(coefficients, precision, information), precision < TIGHTEST
    narrow = coefficients.penalised & np.append(switched_on, False)[coefficients.group]
    on = narrow | ~coefficients.penalised
    volume = Factored.of(information[np.ix_(on, on)] + np.diag(L[on])).log_determinant
    return float(np.log(L[narrow]).sum() - np.sum(L[narrow] * x[narrow] ** 2) - volume) / 2


@dataclass(frozen=True)
class Given:
    """What the groups in a model say together.

    Attributes:
        on: Which coefficients are in it.
        pull: The gradient of the data's log-density where all that is free is zero.
        factor: Of F + L of these.
        x: Where the log-posterior is largest.
    """

    on: np.ndarray
    pull: np.ndarray
    factor: Factored
    x: np.ndarray


@dataclass(frozen=True)
class LocalPosterior:
    """The log-posterior around `center`: score g and information F of the data, and the barrier
    that V meets outside the data.

    Attributes:
        center: The coefficients.
        score: The gradient of the data's log-density there.
        information: F.
        rises: What must not be negative outside the data.
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
        """On the outside barrier, where V is linear in x."""
        return self.rises + self.rise_gradients @ (x - self.center)

    def curvature_of_barrier(self, x: np.ndarray) -> np.ndarray:
        """The second derivatives of what it costs to be too low."""
        falling = self.rise_gradients[self.rises_at(x) < 0]
        return falling.T @ falling

    def height(self, x: np.ndarray, L: np.ndarray) -> float:
        """Relative to the data's log-density at the center."""
        move = x - self.center
        cost = np.sum(np.minimum(self.rises_at(x), 0.0) ** 2) / 2 + x @ (L * x) / 2
        return float(self.score @ move - move @ self.information @ move / 2 - cost)

    def solved(
        self, coefficients: Coefficients, precision: np.ndarray, pace: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Its maximum, with precisions at the maximum of the evidence.

        One group after the other goes to the largest evidence over all of its range, so that groups are put
        in and taken out as wholes (Tipping and Faul 2003, with groups in place of single ones). What is
        needed least is asked first: of two that can stand for each other that one goes.

        A precision becomes no more than `pace` times tighter or looser: far from the solution, what is not
        fitted yet looks like large readouts.
        """
        usual, precision = coefficients.usual_precision, precision.copy()
        low = np.maximum(precision / pace, LOOSEST * usual)
        high = np.minimum(precision * pace, TIGHTEST)
        moves = [k for k in range(coefficients.groups) if self.free[coefficients.group == k].all()]
        x, _ = self.maximum(coefficients, precision)
        for _ in range(SWEEPS if moves else 0):
            before, falling, gained = precision.copy(), self.rises_at(x) < 0, 0.0
            known = self.with_falling(falling)
            given = known.given(coefficients, precision)
            for k in sorted(moves, key=lambda k: -before[k] / usual[k]):
                evidence = known.of_group(coefficients, precision, k, given)
                best, gain = evidence.largest(low[k], high[k])
                doubt = LOG_PRIOR_ODDS if coefficients.group_owner[k] and pace == np.inf else 0.0
                if high[k] == TIGHTEST and gain <= doubt:
                    best = TIGHTEST
                worth = abs(float(evidence(best) - evidence(before[k])))
                # A change that is worth next to nothing would cost a factorisation.
                if worth > SETTLED / len(moves) or (best == TIGHTEST) != (before[k] == TIGHTEST):
                    gained, precision[k] = gained + worth, best
                    given = known.given(coefficients, precision)
            x, _ = self.maximum(coefficients, precision, falling)
            if gained < SETTLED:
                break
        return x, precision

    def effective(self, coefficients: Coefficients, precision: np.ndarray) -> float:
        """How many of the readouts the data set rather than their priors: Tr F (F + L)^-1."""
        on = self.free & coefficients.penalised & (np.append(precision, 0.0)[coefficients.group] < TIGHTEST)
        F, L = self.information[np.ix_(on, on)], prior(coefficients, precision, self.information)[on]
        return float(np.trace(Factored.of(F + np.diag(L)).solve(F))) if on.any() else 0.0

    def with_falling(self, falling: np.ndarray) -> "LocalPosterior":
        """The same, if these places fall: what they cost is then a part of score and information."""
        A = self.rise_gradients[falling]
        return replace(
            self,
            score=self.score - A.T @ self.rises[falling],
            information=self.information + A.T @ A,
            rises=self.rises[:0],
            rise_gradients=self.rise_gradients[:0],
        )

    def given(self, coefficients: Coefficients, precision: np.ndarray) -> "Given":
        """What all groups say together, if no place falls. What is switched off is left out."""
        off = coefficients.penalised & (np.append(precision, 0.0)[coefficients.group] >= TIGHTEST)
        on = self.free & ~off
        # Up to a constant the log-density is pull . x - x . F x / 2 in what is free, from zero on.
        pull = self.score + self.information @ np.where(self.free, self.center, 0.0)
        L = prior(coefficients, precision, self.information)[on]
        factor = Factored.of(self.information[np.ix_(on, on)] + np.diag(L))
        return Given(on, pull, factor, factor.solve(pull[on]))

    def of_group(
        self, coefficients: Coefficients, precision: np.ndarray, k: int, given: "Given | None" = None
    ) -> GroupEvidence:
        """The evidence of one group's precision, all others given, if no place falls.

        With P = (F + L)^-1 of all that is in the model and x = P pull, a group in it has S + l = P_kk^-1 and
        s = P_kk^-1 x_k. So one factor serves all groups, as long as no precision changes.
        """
        given = self.given(coefficients, precision) if given is None else given
        own = coefficients.group == k
        if given.on[own].all():
            inside = own[given.on]
            P = given.factor.solve(np.eye(len(inside))[:, inside])[inside]
            seen = np.linalg.inv((P + P.T) / 2)
            score = seen @ given.x[inside]
            seen = seen - precision[k] * np.eye(len(seen))
        else:
            between = self.information[np.ix_(given.on, own)]
            seen = self.information[np.ix_(own, own)] - between.T @ given.factor.solve(between)
            score = given.pull[own] - between.T @ given.x
        values, vectors = np.linalg.eigh((seen + seen.T) / 2)
        return GroupEvidence(np.maximum(values, 0.0), vectors.T @ score)

    def damped(self, coefficients: Coefficients, precision: np.ndarray, damping: float) -> np.ndarray:
        """The maximum with `damping` times the diagonal of F added to it: Marquardt's step."""
        F = self.information
        return replace(self, information=F + damping * np.diag(np.diag(F))).maximum(coefficients, precision)[
            0
        ]

    def maximum(
        self, coefficients: Coefficients, precision: np.ndarray, falling: np.ndarray | None = None
    ) -> tuple[np.ndarray, Factored]:
        """For given precisions, and the factored matrix there.

        Places outside the data where V falls make a term each, and which ones do is a part of the question. A
        guess, and what falls there, is tried first. Otherwise with H the matrix without the barrier, A the
        gradients of the rises and H u = g, the pulls l = max(0, -rises) solve l = max(0, c - A H^-1 A^T l),
        where c = -rises(u): non-negative least squares, |l - c|^2 + |U l|^2 with U^T U = A H^-1 A^T.
        """
        L = prior(coefficients, precision, self.information)
        pull = np.where(self.free, self.score - L * coefficients.penalised * self.center, 0.0)
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
