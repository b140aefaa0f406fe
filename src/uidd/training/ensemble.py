"""The ensemble: what other data of the same size could have given."""

import numpy as np

from ..models import Coefficients, Ensemble, Model
from ..models.ensemble import SHOWN
from .gauss_newton import Solution
from .local_posterior import LOOSEST, Factored, LocalPosterior, prior
from .rim import Rim

COUNT = 64
# In nats: how much less likely the data may be with a looser prior, for it to be believed.
BELIEVED = 2.0
LOOKED_AT = 256


def draw_ensemble(
    center: Model, weights: Coefficients, solution: Solution, recorded: np.ndarray, *, seed: int
) -> Ensemble:
    """One Gauss-Newton step from the solution for data with reweighted blocks and a redrawn prior.

    A data set in which block b counts w_b times has the score sum_b w_b g_b, and its solution lies
    (F + L)^-1 sum_b (w_b - 1) g_b away. The w_b - 1 are normal (a bootstrap with smooth weights), and
    orthogonal from row to row, so that fewer rows know the spread as well. Where a prior pulls at the
    coefficients, its centre is drawn from it as well. The spread is then that of the posterior if the model
    is right, and the bootstrap's where the noise is larger than the model believes. The coefficients enter
    almost linearly, so one step is nearly a new fit.

    What was switched off for want of evidence is not known to be zero. So there is a second set of
    deviations, with priors as loose as the data can believe, for whoever asks how well a field is known.
    (The rate is a square, to which these would add what nothing speaks for.)
    """
    generator = np.random.default_rng([seed, 7])
    L = solution.prior(weights)
    factor = Factored.of(solution.information + np.diag(L))
    blocks = solution.found.blocks - solution.found.blocks.mean(axis=0)
    repeats = _orthogonal(generator, COUNT, len(blocks))
    normal = _orthogonal(generator, COUNT, len(L))

    def deviations(L: np.ndarray, factor: Factored) -> np.ndarray:
        pulls = normal * np.where(weights.penalised, np.sqrt(L), 0.0)
        return factor.solve((repeats @ blocks + pulls).T).T

    found = deviations(L, factor)
    looser = prior(weights, loosened(weights, solution), solution.information)
    loose = deviations(looser, Factored.of(solution.information + np.diag(looser)))
    return Ensemble(center, found, _constants(found, weights, factor), loose[:SHOWN], recorded)


def unseen_rate(nats: float, total_time: float) -> float:
    """How large a rate is that gains so many nats in this time, if all smaller ones are as likely: its rms.

    A current that is left out and dissipates S costs S T / 4 nats: log-densities differ by
    |df|^2 dt / 4 in the metric M^-1, and S is the mean of |f_irr|^2. Over 0 <= S <= 4 nats / T the root of
    the mean square is this bound over the root of three.
    """
    return 4 * nats / total_time / 3**0.5


def loosened(weights: Coefficients, solution: Solution) -> np.ndarray:
    """For every group the smallest precision with an evidence within `BELIEVED` nats of the solution's."""
    nothing, everything = np.zeros((0, len(solution.vector))), np.ones(len(solution.vector), bool)
    score = solution.found.gradient
    posterior = LocalPosterior(solution.vector, score, solution.information, np.zeros(0), nothing, everything)
    found = solution.precision.copy()
    for k, usual in enumerate(weights.usual_precision if weights.groups else ()):
        evidence = posterior.of_group(weights, solution.precision, k)
        found[k] = evidence.loosest(solution.precision[k], LOOSEST * usual, BELIEVED)
    return found


def spread_of_potential(weights: Coefficients, solution: Solution, states: np.ndarray) -> float:
    """How well V is known over the states, in kT, with priors as loose as the data can believe."""
    some = states[:: -(-len(states) // LOOKED_AT)]
    _, gradients = Rim(some, np.zeros(len(some)), some).rises(weights, solution.vector)
    looser = prior(weights, loosened(weights, solution), solution.information)
    root = Factored.of(solution.information + np.diag(looser)).root_solve(gradients.T)
    return float(np.sqrt(np.mean(np.sum(root**2, axis=0))))


def _orthogonal(generator: np.random.Generator, rows: int, size: int) -> np.ndarray:
    """Standard normal numbers whose rows, as far as there is room, are orthogonal."""
    normal = generator.standard_normal((rows, size))
    for first in range(0, rows, size):
        some = normal[first : first + size]
        Q, R = np.linalg.qr(some.T)
        normal[first : first + size] = np.linalg.norm(some, axis=1)[:, None] * (Q * np.sign(np.diag(R))).T
    return normal


def _constants(deviations: np.ndarray, weights: Coefficients, factor: Factored) -> np.ndarray:
    """What is left of the coefficients without a prior once the readouts of their component are given.

    A constant and the mean of the network beside it are known by their sum only. With C the covariance, a the
    constants of a component and b its readouts, what is left of a is a - C_ab C_bb^-1 b.
    """
    kept = np.where(weights.penalised, 0.0, deviations)
    for k in set(weights.component[weights.penalised]):
        own = weights.component == k
        a, b = own & ~weights.penalised, own & weights.penalised
        C = factor.solve(np.eye(len(own))[:, b])
        kept[:, a] -= Factored.of(C[b]).solve(deviations[:, b].T).T @ C[a].T
    return kept
