"""What the residuals of a model still hold: how well those of earlier pairs foretell the later ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from ..solvers.group_evidence import GroupEvidence
from .features import Features, features
from .optimism import Optimism

# Parts of the pairs, each foretold from those before: a thirty-second of what could be foretold is lost.
PARTS = 32
# Products of residuals are cut at so many standard deviations each.
CUT = 5.0
# Pairs for every feature.
FEWEST_EACH = 4
# Of the sum of squares of a feature: precision of combinations that known states do not tell apart.
LEAST = 0.01
# Of one degree of freedom: precisions of what is as large as its noise, and of nothing.
AS_LARGE, NOTHING = 1.0, 1e8


@dataclass(frozen=True)
class Misfit:
    """How much the residuals of a model still hold, in nats of log-density over all pairs.

    Attributes:
        chance: Of as much if none is left, at most.
        nats: What is left, as far as features of the state hold it; on average it is zero if none is.
        hidden: What smooth features could hold, as a root mean square: the noise of many hides much.
    """

    chance: float
    nats: float
    hidden: float


def drift_misfit(start: np.ndarray, residuals: np.ndarray, optimism: Optimism | None = None) -> Misfit:
    """Of a mean of the residuals that depends on the state, in products, steps and cells.

    Residuals xi of a part of the pairs are foretold from those before by a regression on features y,

        p = y . C,    C = (L + sum_before y y^T)^-1 sum_before y xi^T,    A = sum p . xi,

    with a prior L = E sum y y^T, the sum over all pairs as the parts before let it expect, so that every
    combination of features is as large as its noise; what the parts before do not tell apart has a little
    more (`LEAST`). Features are laid out anew where 1, 2, 4, 8 and 16 of the parts are known.
    If the model is right xi has a mean of zero whatever came before, so A is a martingale: its mean is zero,
    its variance that of sum (p . xi)^2, wherever the noise is larger or smaller than the model says.
    A drift of n nats adds 2 n times a known share, whatever combination of features it is, beside a noise of
    about the root of half of their number: as much as the sum of the squares of all features would say.
    But that sum is right only where states are many and independent. Paths of 300 stationary starts that
    hardly move know 300 places, however many pairs they have, and what xi did to them shows in 450 features.

    A fit has taken its own coefficients out of the residuals of the pairs that it saw: A is smaller by what
    draws of these coefficients foretell of themselves (`Optimism`).

    Features of which there are more than a quarter of the pairs are not asked.

    Args:
        start: States `(n, D)`, those of a path in the order of time.
        residuals: What a model leaves, `(n, D)`.
        optimism: What the fit may have taken out of them.
    """
    return _misfits(start, (residuals, optimism))[0]


def noise_misfit(start: np.ndarray, residuals: np.ndarray) -> Misfit:
    """Of variances and covariances of the residuals in products, steps and cells, likewise."""
    return _misfits(start, (squares(residuals), None))[0]


def both_misfits(
    start: np.ndarray, residuals: np.ndarray, optimism: Optimism | None = None
) -> tuple[Misfit, Misfit]:
    """`drift_misfit` and `noise_misfit`, for which features are laid out once."""
    drift, noise = _misfits(start, (residuals, optimism), (squares(residuals), None))
    return drift, noise


def squares(residuals: np.ndarray) -> np.ndarray:
    """All products of two, cut where they are far out."""
    cut, (i, j) = np.clip(residuals, -CUT, CUT), np.tril_indices(residuals.shape[1])
    return cut[:, i] * cut[:, j]


def _misfits(start: np.ndarray, *asked: tuple[np.ndarray, Optimism | None]) -> list[Misfit]:
    found = [misfits_in(kind, *asked) for kind in features(start)]
    return [worst(each) for each in zip(*found, strict=True)]


def misfits_in(kind: Features, *asked: tuple[np.ndarray, Optimism | None]) -> list[Misfit | None]:
    """What one kind of features holds of each; nothing where pairs are too few for it."""
    count = kind.states.shape[1] + kind.values.shape[1]
    if len(kind.states) < FEWEST_EACH * count:
        return [None] * len(asked)
    return list(left_in(kind.laid_out, *asked))


def worst(found: Iterable[Misfit | None]) -> Misfit:
    """Of what several kinds of features hold of the same values."""
    asked = [each for each in found if each is not None]
    if not asked:
        return Misfit(1.0, 0.0, 0.0)
    real = max(asked, key=lambda each: (-each.chance, each.nats))
    # Steps as fine as you like would hide as much as you like: smooth drifts, of products, are asked for.
    return Misfit(min(1.0, len(asked) * real.chance), max(real.nats, 0.0), asked[0].hidden)


def left_in(
    laid_out: Callable[[int, int], np.ndarray], *asked: tuple[np.ndarray, Optimism | None]
) -> list[Misfit]:
    """Of a mean of values that is linear in features.

    Args:
        laid_out: From how many of the first states are known, and how many are asked about, to features.
        asked: Values whose mean is asked about, and what a fit may have taken out of them.
    """
    edges = np.arange(PARTS + 1) * len(asked[0][0]) // PARTS
    totals = [_Total(values) for values, _ in asked]
    known = 1
    while known < PARTS:
        later = _Later.of(laid_out(edges[known], edges[min(2 * known, PARTS)]), edges, known)
        for total, (_, optimism) in zip(totals, asked, strict=True):
            total.add(later, edges, optimism)
        known *= 2
    return [total.misfit for total in totals]


class _Total:
    """What earlier values foretell of later ones, summed over parts."""

    def __init__(self, values: np.ndarray):
        xi = values - values.mean(axis=0)
        self.xi = xi / np.maximum(xi.std(axis=0), 1e-30)
        self.A = self.variance = self.share = self.expected = 0.0

    def add(self, later: "_Later", edges: np.ndarray, optimism: Optimism | None) -> None:
        """Some parts."""
        each = np.sum(later.foretold(self.xi[: len(later.y)], edges), axis=1)
        self.A, self.variance = self.A + float(each.sum()), self.variance + float(np.sum(each**2))
        self.share, self.expected = (
            self.share + later.share,
            self.expected + later.expected * self.xi.shape[1],
        )
        if optimism is not None:
            self.A += _given_back(later, optimism, edges)

    @property
    def misfit(self) -> Misfit:
        """What it says."""
        if not self.variance > 0:  # residuals of zero
            return Misfit(1.0, 0.0, 0.0)
        nats = self.A / (2 * self.share)
        # The sum of so many squares of normal numbers has as much noise.
        count = max(self.variance, self.expected) / (2 * self.share**2)
        evidence = GroupEvidence(np.ones(1), np.full(1, max(1 + 2 * nats / count, 0.0) ** 0.5), count)
        chance = float(scipy.stats.norm.sf(self.A / self.variance**0.5))
        return Misfit(chance, nats, evidence.hidden(AS_LARGE, NOTHING))


def _given_back(later: "_Later", optimism: Optimism, edges: np.ndarray) -> float:
    """What the residuals would foretell more if nothing had been fitted to them, on average."""
    total = 0.0
    for own, sign in ((optimism.fitted, 1.0), (~optimism.fitted, -1.0)):
        own = own & (optimism.index < len(later.y))
        index, moves = optimism.index[own], optimism.moves[own]
        columns = moves.reshape(len(index), moves[:1].size)
        total += sign * float(later.foretold(columns, np.searchsorted(index, edges), index).sum())
    # Each pair stands for some, and is met with some of those before.
    return optimism.share**2 * total / optimism.moves.shape[2]


@dataclass(frozen=True)
class _Later:
    """As many parts again as are known, foretold from all before.

    Attributes:
        y: Features of all pairs up to these.
        parts: First and last of those foretold.
        inverses: (L + sum_before y y^T)^-1 of each.
        share: Of what there is that is foretold.
        expected: Variance of what white values foretell of each other.
    """

    y: np.ndarray
    parts: tuple[int, int]
    inverses: list[np.ndarray]
    share: float
    expected: float

    @classmethod
    def of(cls, X: np.ndarray, edges: np.ndarray, known: int) -> "_Later":
        """From features, and how many parts are known."""
        parts = known, min(2 * known, PARTS)
        y = X - X[: edges[known]].mean(axis=0)
        y /= np.maximum(np.sqrt(np.einsum("np,np->p", y, y) * PARTS / parts[1]), 1e-30)
        before = y[: edges[known]].T @ y[: edges[known]]
        prior = before * PARTS / known + LEAST * np.eye(y.shape[1])
        inverses, every, share, expected = [], np.linalg.inv(prior), 0.0, 0.0
        for k in range(*parts):
            gram = y[edges[k] : edges[k + 1]].T @ y[edges[k] : edges[k + 1]]
            inverse = np.linalg.inv(prior + before)
            inverses.append(inverse)
            share += float(np.sum(gram * (every - inverse)))
            expected += float(np.sum(gram * (inverse - inverse @ prior @ inverse)))
            before += gram
        share /= float(np.sum(before * every)) * PARTS / parts[1]
        return cls(y, parts, inverses, share, expected)

    def foretold(self, xi: np.ndarray, edges: np.ndarray, index: Any = slice(None)) -> np.ndarray:
        """p xi of pairs in these parts, p from those before; values of some pairs and edges between these."""
        y, (low, high) = self.y[index], self.parts
        products, found = y[: edges[low]].T @ xi[: edges[low]], np.zeros_like(xi)
        for k, inverse in zip(range(low, high), self.inverses, strict=True):
            own = slice(edges[k], edges[k + 1])
            found[own] = (y[own] @ (inverse @ products)) * xi[own]
            products += y[own].T @ xi[own]
        return found
