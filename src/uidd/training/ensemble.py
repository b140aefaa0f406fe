"""The ensemble: what other data of the same size could have given."""

import numpy as np
import scipy.optimize

from ..models import Coefficients, Ensemble, Model
from ..models.coefficients import COMPONENTS
from .features import IN_CELLS
from .gauss_newton import Solution
from .local_posterior import DOUBT, Factored, prior

COUNT = 64


def draw_ensemble(
    center: Model,
    weights: Coefficients,
    solution: Solution,
    recorded: np.ndarray,
    *,
    seed: int,
    could_bend: tuple[Model, Coefficients, Solution] | None = None,
) -> Ensemble:
    """One Gauss-Newton step from the solution for data with reweighted blocks and a redrawn prior.

    A data set in which block b counts w_b times has the score sum_b w_b g_b, and its solution lies
    (F + L)^-1 sum_b (w_b - 1) g_b away. The w_b - 1 are normal (a bootstrap with smooth weights), and
    orthogonal from row to row, so that fewer rows know the spread as well. Where a prior pulls at the
    coefficients, its centre is drawn from it as well. The spread is then that of the posterior if the model
    is right, and the bootstrap's where the noise is larger than the model believes. The coefficients enter
    almost linearly, so one step is nearly a new fit.

    What was switched off for want of evidence is not known to be zero. Evidence weighs a group as a whole,
    and the many directions that the data see well outvote the few that they hardly see. So there is a second
    set of deviations for whoever asks how well V is known, with priors for V as wide as the data do not
    exclude (`widest`). (Currents too weak to be seen have their own place in the error of the rate, see
    `overlooked_nats`.)

    Args:
        center: The fitted model.
        weights: Its coefficients.
        solution: What is known of them.
        recorded: Some states, in order.
        seed: Of the draws.
        could_bend: For a model without networks: the same with all of them at zero, and what the data know.
    """
    generator = np.random.default_rng([seed, 7])
    found, factor = _deviations(weights, solution, solution.precision, generator)
    constants = _constants(found, weights, factor)
    bendable, weights, solution = could_bend or (None, weights, solution)
    loose, _ = _deviations(weights, solution, widest(weights, solution), generator)
    return Ensemble(center, found, constants, loose, recorded, bendable=bendable)


def widest(weights: Coefficients, solution: Solution) -> np.ndarray:
    """Precisions of the widest priors for V, no wider than is usual, that the data do not exclude.

    A width is excluded where its evidence is `DOUBT` nats below the largest: by as much as is asked of a
    group before it is believed in. What is usual would be too wide where the data know much: bumps that they
    have ruled out nearly everywhere would still make wells and saddles wherever few pairs are.
    """
    found, usual, V = solution.precision.copy(), weights.usual_precision, COMPONENTS.index("potential")
    posterior = solution.local_posterior
    given = posterior.given(weights, found)
    for k in np.flatnonzero((weights.group_owner == V) & (found > usual)).tolist():
        evidence = posterior.of_group(weights, solution.precision, k, given)
        found[k] = evidence.loosest(usual[k], found[k], DOUBT)
    return found


def _deviations(
    weights: Coefficients, solution: Solution, precision: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, Factored]:
    """Rows, and the factored matrix, for priors of this precision."""
    L = prior(weights, precision, solution.information)
    factor = Factored.of(solution.information + np.diag(L))
    blocks = solution.found.blocks - solution.found.blocks.mean(axis=0)
    repeats = _orthogonal(generator, COUNT, len(blocks))
    pulls = _orthogonal(generator, COUNT, len(L)) * np.where(weights.penalised, np.sqrt(L), 0.0)
    return factor.solve((repeats @ blocks + pulls).T).T, factor


def unseen_rate(nats: float, total_time: float) -> float:
    """The rate of a current that gains so many nats in this time.

    One that is left out and dissipates S costs S T / 4 nats: log-densities differ by |df|^2 dt / 4 in the
    metric M^-1, and S is the mean of |f_irr|^2.
    """
    return 4 * nats / total_time


def share_of_currents(dimension: int) -> float:
    """Of a drift that is missed, if nothing is known about it: of D components a gradient makes up one."""
    return (dimension - 1) / dimension


def overlooked_nats(dimension: int) -> float:
    """How many nats a current may be worth that a fit overlooks, as a root mean square.

    A fit looks for currents with some tens of units, and its checks look into `IN_CELLS` features of cells
    of states. A vortex could turn in any plane of any of these cells: k = D (D - 1) / 2 numbers a cell. If
    each is so large that they are worth n nats together, their evidence is n - k log(1 + 2 n / k) / 2, about
    n^2 / k: what could be anything needs many nats before it is told from noise. All currents of less than
    the evidence that is asked for, `DOUBT`, are as likely.
    """
    k = IN_CELLS // (dimension + 1) * dimension * (dimension - 1) / 2
    if not k:
        return 0.0
    lacking = lambda n: n - k * np.log1p(2 * n / k) / 2 - DOUBT  # noqa: E731
    # log(1 + x) < x / 2 + 1 / 5, so nothing lacks at the upper end.
    found = scipy.optimize.root_scalar(lacking, bracket=(0.0, 2 * DOUBT + 2 * k), method="brentq")
    return float(found.root) / 3**0.5


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
