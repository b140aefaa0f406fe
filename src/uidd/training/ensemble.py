"""The ensemble: what other data of the same size could have given."""

import numpy as np

from ..models import Coefficients, Ensemble, Model
from ..models.coefficients import COMPONENTS
from .solvers.local_posterior import LOG_PRIOR_ODDS, Factored, prior
from .solvers.posterior import Solution

COUNT = 64


def draw_ensemble(
    center: Model,
    coefficients: Coefficients,
    solution: Solution,
    recorded: np.ndarray,
    *,
    seed: int,
    with_networks: tuple[Model, Coefficients, Solution] | None = None,
) -> Ensemble:
    """One Gauss-Newton step from the solution for data with reweighted blocks and a redrawn prior.

    A data set in which block b counts w_b times has the score sum_b w_b g_b, and its solution lies
    (F + L)^-1 sum_b (w_b - 1) g_b away. The w_b - 1 are normal (a bootstrap with smooth coefficients), and
    orthogonal from row to row, so that fewer rows know the spread as well. Where a prior pulls at the
    coefficients, its centre is drawn from it as well. The spread is then that of the posterior if the model
    is right, and the bootstrap's where the noise is larger than the model believes. The coefficients enter
    almost linearly, so one step is nearly a new fit.

    What was switched off for want of evidence is not known to be zero. Evidence weighs a group as a whole,
    and the many directions that the data see well outvote the few that they hardly see. So there is a second
    set of deviations for whoever asks how well V is known, with priors for V as wide as the data do not
    exclude (`widest`). (Currents too weak to be seen have their own place in the error of the rate, see
    `undetected_nats`.)

    Args:
        center: The fitted model.
        coefficients: Its coefficients.
        solution: What is known of them.
        recorded: Some states, in order.
        seed: Of the draws.
        with_networks: For a model without networks: the same with all at zero, and what the data know.
    """
    generator = np.random.default_rng([seed, 7])
    found, factor = _deviations(coefficients, solution, solution.precision, generator)
    constants = _constants(found, coefficients, factor)
    full, coefficients, solution = with_networks or (None, coefficients, solution)
    wide, _ = _deviations(coefficients, solution, widest(coefficients, solution), generator)
    return Ensemble(center, found, constants, wide, recorded, full=full)


def widest(coefficients: Coefficients, solution: Solution) -> np.ndarray:
    """Precisions of the widest priors for V, no wider than is usual, that the data do not exclude.

    A width is excluded where its evidence is `LOG_PRIOR_ODDS` nats below the largest: by as much as is asked
    of a group before it is believed in. What is usual would be too wide where the data know much: bumps that
    they have ruled out nearly everywhere would still make wells and saddles wherever few pairs are.
    """
    found, usual, V = solution.precision.copy(), coefficients.usual_precision, COMPONENTS.index("potential")
    posterior = solution.local_posterior
    given = posterior.given(coefficients, found)
    for k in np.flatnonzero((coefficients.group_owner == V) & (found > usual)).tolist():
        evidence = posterior.of_group(coefficients, solution.precision, k, given)
        found[k] = evidence.loosest(usual[k], found[k], LOG_PRIOR_ODDS)
    return found


def _deviations(
    coefficients: Coefficients, solution: Solution, precision: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, Factored]:
    """Rows, and the factored matrix, for priors of this precision."""
    L = prior(coefficients, precision, solution.information)
    factor = Factored.of(solution.information + np.diag(L))
    blocks = solution.found.blocks - solution.found.blocks.mean(axis=0)
    repeats = _orthogonal(generator, COUNT, len(blocks))
    pulls = _orthogonal(generator, COUNT, len(L)) * np.where(coefficients.penalised, np.sqrt(L), 0.0)
    return factor.solve((repeats @ blocks + pulls).T).T, factor


def _orthogonal(generator: np.random.Generator, rows: int, size: int) -> np.ndarray:
    """Standard normal numbers whose rows, as far as there is room, are orthogonal."""
    normal = generator.standard_normal((rows, size))
    for first in range(0, rows, size):
        some = normal[first : first + size]
        Q, R = np.linalg.qr(some.T)
        normal[first : first + size] = np.linalg.norm(some, axis=1)[:, None] * (Q * np.sign(np.diag(R))).T
    return normal


def _constants(deviations: np.ndarray, coefficients: Coefficients, factor: Factored) -> np.ndarray:
    """What is left of the coefficients without a prior once the readouts of their component are given.

    A constant and the mean of the network beside it are known by their sum only. With C the covariance, a the
    constants of a component and b its readouts, what is left of a is a - C_ab C_bb^-1 b.
    """
    kept = np.where(coefficients.penalised, 0.0, deviations)
    for k in set(coefficients.component[coefficients.penalised]):
        own = coefficients.component == k
        a, b = own & ~coefficients.penalised, own & coefficients.penalised
        C = factor.solve(np.eye(len(own))[:, b])
        kept[:, a] -= Factored.of(C[b]).solve(deviations[:, b].T).T @ C[a].T
    return kept
