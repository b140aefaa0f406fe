"""Which networks the data call for: a score test for each."""

from dataclasses import dataclass

import numpy as np
import scipy.stats

from ..likelihood import AbstractLikelihood
from ..models import Coefficients
from ..models.coefficients import COMPONENTS
from .local_posterior import Factored
from .scores import BELOW_MEDIAN, Sample, fisher, log_densities, rows_of_information, scores

# Three networks at one or two scales, tested once in every fit: one false alarm in some thousand fits.
LARGEST_CHANCE = 1e-4


@dataclass(frozen=True)
class NetworkTest:
    """Whether the data call for a network where the model has none.

    Attributes:
        component: `potential`, `diffusion` or `circulation`.
        excess: How far the statistic lies above its mean without the network, in standard deviations.
        chance: The probability of as large a statistic if no network is needed.
    """

    component: str
    excess: float
    chance: float

    @property
    def called_for(self) -> bool:
        """Beyond doubt."""
        return self.chance < LARGEST_CHANCE


def networks_called_for(
    weights: Coefficients,
    likelihood: AbstractLikelihood,
    data: Sample,
    nuisances: dict[int, np.ndarray],
    precision: np.ndarray,
    *,
    seed: int,
) -> tuple[NetworkTest, ...]:
    """Score tests of readouts: could they all be zero?

    Let g be the score of a network's readouts where they are zero and F its information, both after what
    constants (and the other networks) explain is taken out. If the true readouts are zero, |g|^2 has mean
    Tr F and variance 2 Tr F^2; readouts of variance s each would raise it by s Tr F^2. No test is more
    powerful against small readouts without a preferred direction, and nothing has to be trained. Readouts
    that are not zero now, x, are taken out by g + F x, which is right if they are as small as they should be.
    What the others explain is taken out as they would move, held by their priors: unheld, a few hundred of
    them explain anything, and a V that is hardly known somewhere would make noise look as if it varied.

    Args:
        weights: The model with the networks built.
        likelihood: The transition density.
        data: The pairs.
        nuisances: For every component to be tested (as in `Coefficients.component`) the coefficients that
            are fitted either way.
        precision: Of the priors of all groups.
        seed: Of the draws in the information.
    """
    vector = weights.vector
    F = fisher(weights, vector, likelihood, data, seed=seed)
    floor = float(np.nanmedian(log_densities(weights, vector, likelihood, data))) - BELOW_MEDIAN
    g = scores(weights, vector, likelihood, data, floor=floor).gradient
    if not (np.isfinite(F).all() and np.isfinite(g).all()):
        return tuple(NetworkTest(COMPONENTS[component], float("nan"), 1.0) for component in nuisances)
    L = np.append(precision, 0.0)[weights.group] * weights.penalised
    rows = rows_of_information(weights, likelihood, data)
    return tuple(
        _tested(weights, F, L, g, nuisance, component, rows) for component, nuisance in nuisances.items()
    )


def _tested(weights, F, L, g, nuisance, component, rows) -> NetworkTest:
    """Every scale of the units by itself; the smallest chance counts, times the number of scales."""
    fixed = nuisance & (np.diag(F) > 0)
    # An F of random rows is explained too well: each free constant takes one row's worth of what is left.
    lost = 1 / (1 - min(np.sum(fixed & ~weights.penalised) / rows, 0.5))
    held = F[np.ix_(fixed, fixed)]
    factor = Factored.of(held + np.diag(L[fixed]))
    own = (weights.component == component) & weights.penalised & ~nuisance
    g = g + F[:, own] @ weights.vector[own]
    pull = (g - L * weights.vector)[fixed]
    scales = np.unique(weights.group[own])
    excess, chance = -np.inf, 1.0
    for scale in scales:
        part = own & (weights.group == scale)
        explained = factor.solve(F[np.ix_(fixed, part)])
        # The covariance of what is left, F - F B - B^T F + B^T F B; with free constants alone it is F - F B.
        shared = F[np.ix_(part, fixed)] @ explained
        rest = F[np.ix_(part, part)] - shared - shared.T + explained.T @ held @ explained
        rest = rest * lost
        left = g[part] - explained.T @ pull
        mean, variance = np.trace(rest), 2 * np.sum(rest**2)
        freedom, statistic = 2 * mean**2 / variance, float(left @ left)
        # A sum of squares with these two moments, as a multiple of chi-squared.
        excess = max(excess, float((statistic - mean) / variance**0.5))
        chance = min(chance, len(scales) * float(scipy.stats.chi2.sf(statistic * freedom / mean, freedom)))
    return NetworkTest(COMPONENTS[component], excess, min(chance, 1.0))
