"""Whether the drift of a model is as strong as it says, where it is weak and where it is strong."""

import numpy as np
import scipy.stats

from ..regression.misfit import Misfit
from ..regression.optimism import Optimism

# Pairs of the fewest: sums of as many products are normal numbers.
FEWEST = 200


def own_drift_misfit(pushes: np.ndarray, residuals: np.ndarray, optimism: Optimism | None = None) -> Misfit:
    """Of a drift that is by a factor too weak or too strong, another one in each class of its own strength.

    A flexible drift that is held back by its priors, or cannot be as nonlinear as the true one, comes out
    too weak in the few states where it is strong, and so too strong in the many others, since a fit makes
    the sum right. The few make much of a rate. Such a misfit lies along one direction at each state, so a
    few numbers tell it, where hundreds of features of the state drown it.

    With v = sigma^-1 f dt^(1/2), f the whole drift of the model, and xi the residuals,

        t_k = sum of v . xi over class k,

    where classes are the half of all pairs with the smallest |v|, half of the others, and so on. If the
    model is right the sum of t_k^2 / Var t_k is chi-squared. But v knows the noise of fitted pairs: what
    priors keep the coefficients from following of it stays in xi, along v. It is known, as far as it
    depends on v at all (`Optimism.held_back`), and is taken away.

    Args:
        pushes: v, `(n, D)`.
        residuals: What a model leaves, `(n, D)`.
        optimism: What the fit may have taken out of them.
    """
    strength = np.sum(pushes**2, axis=1)
    order = np.argsort(strength, kind="stable")
    along = np.sum(pushes * residuals, axis=1)
    known = np.zeros(len(along))
    if optimism is not None:
        own = optimism.index[optimism.fitted]
        held_back = np.sum(pushes[own] * optimism.held_back[optimism.fitted], axis=1)
        known[own] = optimism.share * held_back
    total, classes = 0.0, 0
    for some in np.split(order, edges(len(order))):
        variance = float(np.sum(along[some] ** 2))
        if len(some) < FEWEST or not variance > 0:
            continue
        total += float(np.sum(along[some] - known[some])) ** 2 / variance
        classes += 1
    if not classes:
        return Misfit(1.0, 0.0, 0.0)
    return Misfit(float(scipy.stats.chi2.sf(total, classes)), max(total - classes, 0.0) / 2, 0.0)


def edges(count: int) -> list[int]:
    """After a half, three quarters, seven eighths, ..., while the rest is enough for two classes."""
    found, begin = [], 0
    while (count - begin) // 2 >= FEWEST:
        begin += (count - begin) // 2
        found.append(begin)
    return found
