"""Is the drift nonlinear, does the noise vary: what a regression gains on pairs that it was not fitted to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp

import numpy as np

from .features import bounded, features, whitened_states
from .misfit import CUT, FEWEST_EACH, Misfit, misfits_in, squares, worst
from .optimism import Optimism

# Of calling for a network where none is needed: it costs time, and its prior switches it off.
LARGEST_CHANCE = 0.01
FOLDS = 8
# Pairs looked at.
MOST_PAIRS = 300_000
# Ridges are those that suit a gain of so many nats over all pairs; without bound, none.
EXPECTED = (10.0, 100.0, 1000.0, np.inf)


@dataclass(frozen=True)
class Gain:
    """What a nonlinear drift, or varying noise, gains in log-density on pairs that took no part in its fit.

    If the model without it is right, the density of the other model, fitted elsewhere, is on average no
    larger: E e^gain <= 1, whatever it is and however many numbers it has. So by Markov's inequality a gain of
    g nats in one fold has a chance of e^-g at most, times the number of regressions tried. For the sum over
    folds, which share what they are fitted to, that is a guide and no bound: a linear data set in five
    dimensions gained 11 nats. Pairs of one path stay in one fold, so that those fitted and those asked are
    apart.

    A regression has to be fitted before it gains, and what is spread over many features it cannot fit. How
    well residuals of the simpler model foretell each other sees that there is something (`Misfit`); the same
    is asked of a fit afterwards. Either may call for a network: one in vain costs time, and its prior
    switches it off.

    Attributes:
        what: `drift` or `noise`.
        features: The regression that gained most.
        nats: Its gain.
        chance: Of as much if nothing is there: twice e^-nats times the number of regressions tried, or, where
            that calls for nothing, twice that of what residuals foretell if it is smaller.
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
    return _answers(start, fold, _about_drift(start, increment, dt))[0]


def noise_gain(start: np.ndarray, residuals: np.ndarray, fold: np.ndarray) -> Gain:
    """Of variances and covariances in products and steps of the states over constant ones.

    Args:
        start: States `(n, D)`.
        residuals: What a model of the drift leaves, over the root of its covariance.
        fold: Of every pair.
    """
    return _answers(start, fold, _about_noise(start, residuals))[0]


def both_gains(
    start: np.ndarray, increment: np.ndarray, dt: np.ndarray, fold: np.ndarray
) -> tuple[Gain, Gain]:
    """Of the drift, and of the noise that a linear one leaves; features are laid out once."""
    noise = _about_noise(start, linear_residuals(start, increment, dt))
    drift, noise = _answers(start, fold, _about_drift(start, increment, dt), noise)
    return drift, noise


def linear_residuals(start: np.ndarray, increment: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """What the best linear mean leaves of the increments, of unit covariance."""
    root = np.sqrt(dt)[:, None]
    return _residuals(np.concatenate([np.ones_like(root), start], axis=1) * root, increment / root)


@dataclass(frozen=True)
class _Question:
    """Does more than a simpler regression foretell a target?

    Attributes:
        what: `drift` or `noise`.
        base: The simpler one's regressors.
        target: What they foretell.
        more: Further regressors, from features of the state.
        residuals: Of the simpler one.
        optimism: What it has taken out of these.
    """

    what: str
    base: np.ndarray
    target: np.ndarray
    more: Callable[[np.ndarray], np.ndarray]
    residuals: np.ndarray
    optimism: Optimism | None


def _about_drift(start: np.ndarray, increment: np.ndarray, dt: np.ndarray) -> _Question:
    z, root = whitened_states(start), np.sqrt(dt)[:, None]
    base = np.concatenate([np.ones_like(root), z], axis=1) * root
    if np.ptp(dt) > 1e-3 * dt.mean():
        longer = (dt / dt.mean())[:, None]
        base = np.concatenate([base, longer * base, longer**2 * base], axis=1)
    target = increment / root
    optimism = Optimism.by_regression(base, target.shape[1])
    return _Question("drift", base, target, lambda f: root * f, _residuals(base, target), optimism)


def _about_noise(start: np.ndarray, residuals: np.ndarray) -> _Question:
    u, one, xx = bounded(whitened_states(start)), np.ones((len(start), 1)), squares(residuals)
    return _Question("noise", one, xx, lambda f: np.concatenate([u, f], axis=1), xx, None)


def _answers(start: np.ndarray, fold: np.ndarray, *questions: _Question) -> list[Gain]:
    found: list[list[tuple[float, str]]] = [[] for _ in questions]
    misfits: list[list[Misfit | None]] = [[] for _ in questions]
    asked = [(each.residuals, each.optimism) for each in questions]
    for kind in features(start):
        for k, each in enumerate(questions):
            gained = _gains(each.base, each.more(kind.values), each.target, fold)
            found[k] += [(gain, kind.name) for gain in gained]
        for k, misfit in enumerate(misfits_in(kind, *asked)):
            misfits[k].append(misfit)
    return [
        _answer(each.what, own, worst(left))
        for each, own, left in zip(questions, found, misfits, strict=True)
    ]


def _answer(what: str, gains: list[tuple[float, str]], misfit: Misfit) -> Gain:
    """Two questions, so twice the chance; the second counts where the first calls for no network."""
    if not gains:
        return Gain(what, "", 0.0, min(1.0, 2 * misfit.chance))
    nats, name = max(gains)
    gain = Gain(what, name, nats, min(1.0, 2 * len(gains) * exp(min(-nats, 0.0))))
    return gain if gain.called_for else replace(gain, chance=min(gain.chance, 2 * misfit.chance))


def folds_of(block: np.ndarray) -> np.ndarray:
    """Folds of about equal size; what belongs to one block stays together."""
    return np.unique(block, return_inverse=True)[1] * FOLDS // (len(np.unique(block)) or 1) % FOLDS


def _residuals(base: np.ndarray, target: np.ndarray) -> np.ndarray:
    """What a regression leaves, cut where it is far out, of unit covariance."""
    left = target - base @ np.linalg.lstsq(base, target, rcond=None)[0]
    limit = CUT * left.std(axis=0)
    left = np.clip(left, -limit, limit)
    return np.linalg.solve(np.linalg.cholesky(left.T @ left / len(left)), left.T).T


def _gains(base: np.ndarray, extra: np.ndarray, target: np.ndarray, fold: np.ndarray) -> list[float]:
    """Held-out gains of `base` and `extra` over `base` alone, one for each ridge."""
    used, count = base.shape[1], base.shape[1] + extra.shape[1]
    left = _residuals(base, target)
    members = [fold == k for k in range(FOLDS) if (fold == k).any()]
    if len(members) < 2 or len(left) < FEWEST_EACH * count:
        return []
    grams, products = [], []
    for m in members:
        X = np.concatenate([base[m], extra[m]], axis=1)
        grams.append(X.T @ X)
        products.append(X.T @ left[m])
    whole = np.sum(grams, axis=0)
    # In standard deviations of the features, so that a ridge means the same for all of them.
    square = np.diag(whole)[used:] / len(extra)
    variance = square - extra.mean(axis=0) ** 2
    spread = np.sqrt(np.where(variance > 1e-9 * square, variance, square))  # constants have round-off alone
    size = np.append(np.ones(used), spread + 1e-12)
    grams, products = [G / size[:, None] / size for G in grams], [p / size[:, None] for p in products]
    whole, all_products = np.sum(grams, axis=0), np.sum(products, axis=0)
    tiny = 1e-9 * np.trace(whole) / len(whole)
    found = []
    for expected in EXPECTED:
        ridge = np.full(count, tiny)
        ridge[used:] += extra.shape[1] * len(extra) / (2 * expected)
        total = 0.0
        for gram, product in zip(grams, products, strict=True):
            rest, other = whole - gram, all_products - product
            B = np.linalg.solve(rest + np.diag(ridge), other)
            plain = np.linalg.solve(rest[:used, :used] + tiny * np.eye(used), other[:used])
            total += np.sum(B * (product - gram @ B / 2))
            total -= np.sum(plain * (product[:used] - gram[:used, :used] @ plain / 2))
        found.append(float(total))
    return found
