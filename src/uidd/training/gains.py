"""Does the drift bend, does the noise vary: what a regression gains on pairs that it was not fitted to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb, exp

import numpy as np
import scipy.stats

from ..components import Network
from .gaussians_of_states import cell_centers, nearest
from .local_posterior import GroupEvidence
from .telling_coordinates import independent_components

# Of calling for a network where none is needed: it costs time, and its prior switches it off.
LARGEST_CHANCE = 0.01
FOLDS = 8
# Whitened states are themselves within so many standard deviations, and bounded beyond; residuals are cut.
REACH, CUT = 4.0, 5.0
# Features of all products up to third degree where they are no more than these, and pairs looked at.
MOST_PRODUCTS, MOST_PAIRS = 500, 300_000
# Scales of steps, in standard deviations, and how many of each.
STEPS = {"broad steps": (1.0, 48), "fine steps": (3.0, 144)}
# Features of states in cells.
IN_CELLS = 144
# Ridges are those that suit a bend of so many nats over all pairs; without bound, none.
EXPECTED = (10.0, 100.0, 1000.0, np.inf)
# Pairs for every feature of a regression.
FEWEST_EACH = 4
# Pairs of a sum at a time, and random signs that show how sums go together: that many are off by 2 %.
CHUNK, SIGNS = 8192, 4096
# Of one degree of freedom: precisions of what is as large as its noise, and of nothing.
AS_LARGE, NOTHING = 1.0, 1e8


@dataclass(frozen=True)
class Gain:
    """What a bent drift, or a noise that varies, gains in log-density on pairs that took no part in its fit.

    If the model without it is right, the density of the other model, fitted elsewhere, is on average no
    larger: E e^gain <= 1, whatever it is and however many numbers it has. So by Markov's inequality a gain of
    g nats in one fold has a chance of e^-g at most, times the number of regressions tried. For the sum over
    folds, which share what they are fitted to, that is a guide and no bound: a linear data set in five
    dimensions gained 11 nats. Pairs of one path stay in one fold, so that those fitted and those asked are
    apart.

    A regression has to be fitted before it gains, and what is spread over many features it cannot fit. The
    sum of squares of all features of what the simpler model leaves sees that there is something (`Misfit`);
    it is the same sum that a fit is asked for afterwards. Either may call for a network: one in vain costs
    time, and its prior switches it off.

    Attributes:
        what: `drift` or `noise`.
        features: The regression that gained most.
        nats: Its gain.
        chance: Of as much if nothing is there: twice e^-nats times the number of regressions tried, or, where
            that calls for nothing, twice that of the sum of squares if it is smaller.
    """

    what: str
    features: str
    nats: float
    chance: float

    @property
    def called_for(self) -> bool:
        """Beyond doubt."""
        return self.chance < LARGEST_CHANCE


def drift_gain(start: np.ndarray, increment: np.ndarray, dt: np.ndarray, fold: np.ndarray) -> Gain:
    """Of drifts in products and steps of the states over linear ones.

    The mean of an increment is linear in the state for every linear drift, whatever the noise and however
    far apart the frames are, so no likelihood is needed. Where frames are not evenly spaced the linear part
    has coefficients that depend on dt.
    """
    z, root = _whitened(start), np.sqrt(dt)[:, None]
    u, base = _bounded(z), np.concatenate([np.ones_like(root), z], axis=1) * root
    if np.ptp(dt) > 1e-3 * dt.mean():
        longer = (dt / dt.mean())[:, None]
        base = np.concatenate([base, longer * base, longer**2 * base], axis=1)
    target = increment / root
    found = _largest("drift", base, ((n, root * f) for n, f in _features(u)), target, fold)
    return _or_else(found, lambda: drift_misfit(start, _residuals(base, target)))


def linear_residuals(start: np.ndarray, increment: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """What the best linear mean leaves of the increments, of unit covariance."""
    root = np.sqrt(dt)[:, None]
    return _residuals(np.concatenate([np.ones_like(root), start], axis=1) * root, increment / root)


def _residuals(base: np.ndarray, target: np.ndarray) -> np.ndarray:
    """What a regression leaves, cut where it is far out, of unit covariance."""
    left = target - base @ np.linalg.lstsq(base, target, rcond=None)[0]
    limit = CUT * left.std(axis=0)
    left = np.clip(left, -limit, limit)
    return np.linalg.solve(np.linalg.cholesky(left.T @ left / len(left)), left.T).T


def _or_else(gain: Gain, misfit: Callable[[], "Misfit"]) -> Gain:
    """Two questions, so twice the chance; the second is asked where the first does not call for a network."""
    gain = replace(gain, chance=min(1.0, 2 * gain.chance))
    return gain if gain.called_for else replace(gain, chance=min(gain.chance, 2 * misfit().chance))


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


def drift_misfit(
    start: np.ndarray, residuals: np.ndarray, made: Callable[[np.ndarray], np.ndarray] | None = None
) -> Misfit:
    """Of a mean of the residuals in products and steps of the states.

    Along each of p orthogonal combinations y of the features, sum(y xi)^2 / sum(y^2 xi^2) is chi-squared of
    one degree of freedom if nothing is left, wherever the noise is larger or smaller than the model says
    (White 1980). What a drift of n nats adds to their sum is 2 n, whatever combination it is, beside a noise
    of the root of 2 p. A fit has taken its own coefficients out of the residuals of the pairs that it saw:
    with these the sum is smaller, by what `made` says of its covariance.

    Features of which there are more than a quarter of the pairs are not asked.

    Args:
        start: States `(n, D)`.
        residuals: What a model leaves, `(n, D)`.
        made: From combinations y `(n, p)` of the features to what the fit has added to the covariance of
            sum(y xi), `(p D, p D)`; see `Absorbed`.
    """
    return _misfit(start, residuals, made)


def noise_misfit(start: np.ndarray, residuals: np.ndarray) -> Misfit:
    """Of variances and covariances of the residuals in products and steps of the states, likewise."""
    return _misfit(start, _squares(residuals))


def _misfit(
    start: np.ndarray, values: np.ndarray, made: Callable[[np.ndarray], np.ndarray] | None = None
) -> Misfit:
    z = _whitened(start)
    asked = (np.concatenate([z, f], axis=1) for _, f in _features(_bounded(z)))
    found = [_left(X, values, made) for X in asked if len(X) >= FEWEST_EACH * X.shape[1]]
    if not found:
        return Misfit(1.0, 0.0, 0.0)
    real = max(found, key=lambda each: (-each.chance, each.nats))
    # Steps as fine as you like would hide as much as you like: smooth drifts, of products, are asked for.
    return Misfit(min(1.0, len(found) * real.chance), max(real.nats, 0.0), found[0].hidden)


def _left(X: np.ndarray, values: np.ndarray, made: Callable[[np.ndarray], np.ndarray] | None) -> Misfit:
    X, xi = X - X.mean(axis=0), values - values.mean(axis=0)
    sizes, directions = np.linalg.eigh(X.T @ X)
    some = sizes > 1e-9 * sizes.max()
    turned = directions[:, some] / np.sqrt(sizes[some])
    parts = [slice(first, first + CHUNK) for first in range(0, len(X), CHUNK)]
    sums, squares = np.zeros((2, some.sum(), xi.shape[1]))
    combined = np.empty((len(X), some.sum()), np.float32)
    for rows in parts:
        y = combined[rows] = X[rows] @ turned
        sums += y.T @ xi[rows]
        squares += (y**2).T @ xi[rows] ** 2
    squares = np.maximum(squares, 1e-30)
    t = sums**2 / squares
    # Where the noise varies the sums go together, as if they were fewer: n^2 / |C|^2 with C their
    # correlations, whose size is seen in what they do to random signs.
    probes = -(-SIGNS // t.size)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (probes, *t.shape)) / np.sqrt(squares)
    carried, signs = np.zeros((probes, *t.shape)), signs.astype(np.float32)
    weight = (xi**2).astype(np.float32)  # as is `combined`: signs need no digits
    for rows in parts:
        y = combined[rows]
        carried += y.T @ (weight[rows] * (y @ signs))
    together = np.sum((carried / np.sqrt(squares)) ** 2) / probes / t.size
    # The diagonal of C alone is n.
    count, each = max(t.size / max(together, 1.0), 1.0), float(t.mean())
    evidence = GroupEvidence(np.ones(round(count)), np.full(round(count), each**0.5))
    # With C the covariance that a fit leaves the sum is Tr C, with a variance of 2 Tr C^2.
    left, both = float(t.size), float(t.size)
    if made is not None:
        C = np.eye(t.size) + made(combined)
        left, both = max(float(np.trace(C)), 1.0), float(np.sum(C**2))
    degrees = max(left**2 / both * count / t.size, 1.0)
    return Misfit(
        chance=float(scipy.stats.chi2.sf(t.sum() / left * degrees, degrees)),
        nats=float(t.sum() - left) / 2,
        hidden=t.size / count * evidence.hidden(AS_LARGE, NOTHING),
    )


def noise_gain(start: np.ndarray, residuals: np.ndarray, fold: np.ndarray) -> Gain:
    """Of variances and covariances in products and steps of the states over constant ones.

    Args:
        start: States `(n, D)`.
        residuals: What a model of the drift leaves, over the root of its covariance.
        fold: Of every pair.
    """
    u = _bounded(_whitened(start))
    features = ((name, np.concatenate([u, f], axis=1)) for name, f in _features(u))
    found = _largest("noise", np.ones((len(u), 1)), features, _squares(residuals), fold)
    return _or_else(found, lambda: noise_misfit(start, residuals))


def _squares(residuals: np.ndarray) -> np.ndarray:
    """All products of two, cut where they are far out."""
    cut, (i, j) = np.clip(residuals, -CUT, CUT), np.tril_indices(residuals.shape[1])
    return cut[:, i] * cut[:, j]


def folds_of(block: np.ndarray) -> np.ndarray:
    """Folds of about equal size; what belongs to one block stays together."""
    return np.unique(block, return_inverse=True)[1] * FOLDS // (len(np.unique(block)) or 1) % FOLDS


def _largest(what: str, base, features: Iterator, target, fold) -> Gain:
    found = [(gain, name) for name, extra in features for gain in _gains(base, extra, target, fold)]
    if not found:
        return Gain(what, "", 0.0, 1.0)
    gain, name = max(found)
    return Gain(what, name, gain, min(1.0, len(found) * exp(min(-gain, 0.0))))


def _gains(base: np.ndarray, extra: np.ndarray, target: np.ndarray, fold: np.ndarray) -> list[float]:
    """Held-out gains of `base` and `extra` over `base` alone, one for each ridge."""
    extra = extra / (extra.std(axis=0) + 1e-12)
    X, used = np.concatenate([base, extra], axis=1), base.shape[1]
    left = _residuals(base, target)
    members = [fold == k for k in range(FOLDS) if (fold == k).any()]
    if len(members) < 2 or len(left) < FEWEST_EACH * X.shape[1]:
        return []
    grams, products = zip(*((X[m].T @ X[m], X[m].T @ left[m]) for m in members), strict=True)
    whole, all_products = np.sum(grams, axis=0), np.sum(products, axis=0)
    tiny = 1e-9 * np.trace(whole) / len(whole)
    found = []
    for expected in EXPECTED:
        ridge = np.full(X.shape[1], tiny)
        ridge[used:] += extra.shape[1] * len(X) / (2 * expected)
        total = 0.0
        for gram, product in zip(grams, products, strict=True):
            rest, other = whole - gram, all_products - product
            B = np.linalg.solve(rest + np.diag(ridge), other)
            plain = np.linalg.solve(rest[:used, :used] + tiny * np.eye(used), other[:used])
            total += np.sum(B * (product - gram @ B / 2))
            total -= np.sum(plain * (product[:used] - gram[:used, :used] @ plain / 2))
        found.append(float(total))
    return found


def _whitened(states: np.ndarray) -> np.ndarray:
    """Zero mean, unit covariance, along the directions that are least Gaussian."""
    if states.shape[1] == 1:
        return (states - states.mean(axis=0)) / states.std(axis=0)
    A = independent_components(states[:: -(-len(states) // 20_000)])
    return (states - states.mean(axis=0)) @ A


def _bounded(u: np.ndarray) -> np.ndarray:
    inside = np.clip(u, -REACH, REACH)
    return inside + np.tanh(u - inside)


def _features(u: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Products of second and third degree, and steps across the data."""
    dimension = u.shape[1]
    degrees = (2, 3) if comb(dimension + 3, 3) <= MOST_PRODUCTS else (2,)
    terms = [
        np.prod(u[:, list(place)], axis=1)
        for degree in degrees
        for place in combinations_with_replacement(range(dimension), degree)
    ]
    if degrees == (2,):
        terms += list((u**3).T)
    yield "products", np.stack(terms, axis=1)
    for name, (scale, width) in STEPS.items():
        A, a = Network.steps(dimension, width, (scale,), dense=True)
        yield name, np.tanh(u @ A + a)
    yield "cells", _in_cells(u, IN_CELLS // (dimension + 1))


def _in_cells(u: np.ndarray, count: int) -> np.ndarray:
    """One, and the place, in each of so many cells: what is so in one well and in no other.

    The cells lie where the states do (k-means), so they are as fine as a well is narrow, however far apart
    wells are. Steps and products that are laid out over all states see nothing of that.
    """
    centers = cell_centers(u, count)
    cell = nearest(u, centers)
    places = np.concatenate([np.ones((len(u), 1)), u - centers[cell]], axis=1)
    found = np.zeros((len(u), len(centers), places.shape[1]))
    found[np.arange(len(u)), cell] = places
    return found.reshape(len(u), -1)
