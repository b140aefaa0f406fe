"""Gauss-Newton steps on the coefficients, with priors whose width the data choose."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from ..likelihood import AbstractLikelihood
from .coefficients import Coefficients
from .scores import Sample, Scores, fisher, scores, values

MOST_FISHER_PAIRS = 65_536
LOOSEST, TIGHTEST = 1e-8, 1e8


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


def prior(weights: Coefficients, precision: np.ndarray, information: np.ndarray) -> np.ndarray:
    """The precision of every coefficient."""
    scale = np.diag(information)
    # What the data do not see at all, such as a constant added to V, stays where it is.
    free = 1e-9 * scale + np.where(scale < 1e-9 * scale.max(), scale.max(), 0.0)
    return np.where(weights.penalised, np.append(precision, 0.0)[weights.group], free)


def climb(
    weights: Coefficients,
    solution: Solution | None,
    likelihood: AbstractLikelihood,
    data: Sample,
    *,
    most_steps: int,
    enough: float,
    seed: int,
) -> Solution:
    """Gauss-Newton steps up the log-posterior until a step is expected to gain less than `enough` nats.

    With score g, information F and prior precisions L the step solves (F + L) x = g + F theta. Before each
    solve the precisions are set to the maximum of the evidence of this quadratic model (MacKay's
    iteration): a group that the data do not call for gets an infinite precision and vanishes.
    """
    generator = np.random.default_rng(seed)
    vector = weights.vector if solution is None else solution.vector
    precision = np.ones(weights.groups) if solution is None else solution.precision
    seen = data.some(MOST_FISHER_PAIRS, generator)
    F = found = None
    gain = float("inf")
    for step in range(most_steps):
        if F is None or len(data) <= MOST_FISHER_PAIRS:
            F = fisher(weights, vector, likelihood, seen, seed=seed + step) * (len(data) / len(seen))
        found = scores(weights, vector, likelihood, data)
        target, precision = _solved(weights, F, found.gradient + F @ vector, precision)
        L = prior(weights, precision, F) * weights.penalised
        move = target - vector
        gain = float(move @ (found.gradient - L * vector) - move @ (F + np.diag(L)) @ move / 2)
        taken = 0.0

        def height(x, L=L):
            return values(weights, x, likelihood, data) - x @ (L * x) / 2

        if gain < enough:  # so small that it need not be checked
            return Solution(target, precision, F, found, gain)
        now = found.value - vector @ (L * vector) / 2
        for taken in (1.0, 0.5, 0.25, 0.1, 0.03):
            if height(vector + taken * move) > now:
                vector = vector + taken * move
                break
        else:
            break
    assert F is not None and found is not None
    return Solution(vector, precision, F, found, gain)


def _solved(weights, F, b, precision):
    """The maximum of the quadratic posterior, with precisions at the maximum of its evidence."""
    rounds = 30 if len(b) < 600 else 6
    for _ in range(rounds if weights.groups else 0):
        factor = scipy.linalg.cho_factor(F + np.diag(prior(weights, precision, F)))
        x = scipy.linalg.cho_solve(factor, b)
        spread = np.diag(scipy.linalg.cho_solve(factor, np.eye(len(b))))
        updated = precision.copy()
        for k in range(weights.groups):
            own = weights.group == k
            determined = own.sum() - precision[k] * spread[own].sum()
            updated[k] = max(determined, 1e-3) / max(np.sum(x[own] ** 2), 1e-30)
        updated = np.clip(updated, LOOSEST, TIGHTEST)
        settled = np.allclose(np.log(updated), np.log(precision), atol=0.02)
        precision = updated
        if settled:
            break
    factor = scipy.linalg.cho_factor(F + np.diag(prior(weights, precision, F)))
    return scipy.linalg.cho_solve(factor, b), precision


def carried_over(weights: Coefficients, precision: np.ndarray) -> Solution:
    """A solution to start from after the model has grown: values as they are, new groups at precision one."""
    grown = np.ones(weights.groups)
    grown[: len(precision)] = precision
    empty = Scores(0.0, np.zeros((0, 0)))
    return Solution(weights.vector, grown, np.zeros((0, 0)), empty, float("inf"))


def at(solution: Solution, vector: np.ndarray) -> Solution:
    """The same knowledge at other values."""
    return replace(solution, vector=vector)
