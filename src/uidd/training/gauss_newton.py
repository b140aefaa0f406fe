"""Gauss-Newton steps on the coefficients, with priors whose width the data choose."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize

from ..likelihood import AbstractLikelihood
from ..models import Coefficients
from ..models.coefficients import COMPONENTS
from .rim import Rim
from .scores import Sample, Scores, fisher, log_densities, scores, values

MOST_FISHER_PAIRS = 32_768
# For every coefficient: near the solution so many make the recorded g g^T as good as the information.
ENOUGH_PAIRS = 128
# Relative to the usual precision, and by itself.
LOOSEST, TIGHTEST = 1e-3, 1e8
# Beyond this multiple of the usual precision a group counts as taken out.
MEANINGLESS = 1e6
# In nats: how much the data must gain by a group of sigma or W, whose noise would pass for dissipation.
DOUBT = 9.0
TRIALS, LEAST_DAMPING = 7, 1e-3
# Sets of falling places that are tried before the exact search.
GUESSES = 3
# A step must bring so much of what it promised; how far it may move the precisions.
KEPT, PACE = 0.25, 10.0
# In nats: what the data's log-density may differ from a promise in any case.
LEEWAY = 9.0


@dataclass(frozen=True)
class Solution:
    """Coefficients, the precision of every group's prior, and what is known about them there.

    Attributes:
        vector: The coefficients.
        precision: Of the prior of every group; at 1e8 a group is switched off.
        information: The Fisher information of all data at or near `vector`.
        found: The scores of all data at or near `vector`.
        expected_gain: What one more step would gain in the log-posterior, in nats.
    """

    vector: np.ndarray
    precision: np.ndarray
    information: np.ndarray
    found: Scores
    expected_gain: float

    def prior(self, weights: Coefficients) -> np.ndarray:
        """The precision of every coefficient; a trace of one on constants keeps the solve regular."""
        return prior(weights, self.precision, self.information)

    def without(self, weights: Coefficients, component: int) -> "Solution":
        """With the readouts of a component left out, all of which are switched off."""
        kept = ~(weights.penalised & (weights.component == component))
        return replace(
            self,
            vector=self.vector[kept],
            precision=self.precision[weights.group_owner != component],
            information=self.information[np.ix_(kept, kept)],
            found=Scores(self.found.value, self.found.blocks[:, kept]),
        )


def prior(weights: Coefficients, precision: np.ndarray, information: np.ndarray) -> np.ndarray:
    """The precision of every coefficient."""
    scale = np.diag(information)
    # What the data do not see at all stays where it is.
    free = 1e-9 * scale + np.where(scale < 1e-9 * scale.max(), scale.max(), 0.0)
    return np.where(weights.penalised, np.append(precision, 0.0)[weights.group], free)


def climb(
    weights: Coefficients,
    solution: Solution,
    likelihood: AbstractLikelihood,
    data: Sample,
    rim: Rim,
    *,
    most_steps: int,
    enough: float,
    seed: int,
    moving: tuple[str, ...] = COMPONENTS,
    far: bool = False,
    near: bool = False,
) -> Solution:
    """Gauss-Newton steps up the log-posterior until a step is expected to gain less than `enough` nats.

    With score g, information F and prior precisions L the step solves (F + L) x = g + F theta. What V
    costs on the rim is a part of g and F. F is an average over the model's own next states, or, where the
    start is `near` the solution and pairs are many, over the recorded ones.

    With every step the precisions go to the maximum of the evidence of this quadratic model (MacKay's
    iteration): a group that the data do not call for gets an infinite precision and vanishes. Where the
    model promises too much, so does its evidence, and priors chosen by it would lead astray. So such a step
    is taken only if the data's log-density changes as the model says; otherwise the precisions stay, the
    step is damped until it keeps a part of its promise (Marquardt), and the next change is a smaller one.

    Where the start is `far` away, precisions stay as they are and no pair counts as an outlier; where it is
    `near`, they may become anything at once. Only the components named in `moving` move.
    """
    generator = np.random.default_rng(seed)
    vector, precision = solution.vector, solution.precision
    free = np.isin(weights.component, [COMPONENTS.index(name) for name in moving])
    seen = data.some(MOST_FISHER_PAIRS, generator)
    # Twenty nats below the middle: a Gaussian of any dimension has none there.
    middle = float(np.nanmedian(log_densities(weights, vector, likelihood, seen)))
    floor = -1e30 if far else middle - 20.0
    recorded = near and len(data) > ENOUGH_PAIRS * len(vector)
    F = found = None

    def rise(quadratic: LocalPosterior, before: float, x: np.ndarray) -> tuple[float, float]:
        """Of the data's log-density less what the rim costs: in the quadratic model, and in truth."""
        nothing = np.zeros_like(x)
        promised = quadratic.height(x, nothing) - quadratic.height(quadratic.center, nothing)
        return promised, values(weights, x, likelihood, data, floor=floor) - rim.cost(weights, x) - before

    gain, damping = float("inf"), 0.0
    pace = widest = np.inf if near else PACE
    for step in range(most_steps):
        found = scores(weights, vector, likelihood, data, floor=floor, outer=recorded)
        F = found.outer
        if F is None:
            F = fisher(weights, vector, likelihood, seen, seed=seed + step) * (len(data) / len(seen))
        if not (np.isfinite(found.gradient).all() and np.isfinite(F).all()):
            gain = float("inf")
            break
        quadratic = LocalPosterior(vector, found.gradient, F, *rim.rises(weights, vector), free)
        before = found.value - rim.cost(weights, vector)
        taken, whole = False, far
        if not far:
            x, tuned = quadratic.solved(weights, precision, pace)
            promised, kept = rise(quadratic, before, x)
            taken = kept > promised - abs(promised) / 2 - LEEWAY
            whole = taken and pace == widest
            pace = widest if taken else min(pace**0.5, PACE)
            if taken:
                vector, precision, gain = x, tuned, abs(promised - kept)
        L = prior(weights, precision, F) * weights.penalised
        for trial in range(0 if taken else TRIALS):
            x = quadratic.damped(weights, precision, damping)
            promised, kept = rise(quadratic, before, x)
            relief = (vector @ (L * vector) - x @ (L * x)) / 2
            if trial == 0:
                gain = promised + relief
            taken = kept + relief > KEPT * (promised + relief)
            if taken:
                vector, gain = x, abs(gain - kept - relief)  # what was promised and not kept is left
                if kept + relief > (promised + relief) / 2:
                    damping = damping / 10 if damping > LEAST_DAMPING else 0.0
                break
            damping = max(10 * damping, LEAST_DAMPING)
        # Precisions that have not had their way yet may still change everything.
        if not taken or (whole and gain < enough):
            break
    assert F is not None and found is not None
    rises, gradients = rim.rises(weights, vector)
    falling = gradients[rises < 0]
    F = np.nan_to_num(F + falling.T @ falling, nan=0.0, posinf=0.0, neginf=0.0)
    found = Scores(found.value, np.nan_to_num(found.blocks, nan=0.0, posinf=0.0, neginf=0.0))
    return Solution(vector, precision, F, found, float(gain))


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
            spread = np.diag(factor.solve(np.eye(len(x))))
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


def carried_over(weights: Coefficients, precision: np.ndarray) -> Solution:
    """A solution to start from: values as they are, nothing known about them."""
    return Solution(weights.vector, precision, np.zeros((0, 0)), Scores(0.0, np.zeros((0, 0))), float("inf"))


def known(
    weights: Coefficients, likelihood: AbstractLikelihood, data: Sample, rim: Rim, *, seed: int
) -> Solution:
    """What the data know of the coefficients where they are, without a step."""
    vector = weights.vector
    fewer = int(3e11 / len(vector) ** 2)
    seen = data.some(min(MOST_FISHER_PAIRS, max(fewer, 2048)), np.random.default_rng(seed))
    floor = float(np.nanmedian(log_densities(weights, vector, likelihood, seen))) - 20.0
    scale = len(data) / len(seen)
    F = fisher(weights, vector, likelihood, seen, seed=seed) * scale
    found = scores(weights, vector, likelihood, seen, floor=floor)
    # Blocks hold a part of their pairs: their scores vary as sums of all would, up to this factor.
    found = Scores(found.value * scale, found.blocks * scale**0.5)
    everything = np.ones(len(vector), bool)
    quadratic = LocalPosterior(vector, found.gradient, F, *rim.rises(weights, vector), everything)
    _, precision = quadratic.solved(weights, weights.usual_precision)
    return Solution(vector, precision, F + quadratic.bowl(vector), found, 0.0)
