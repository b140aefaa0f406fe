"""Gauss-Newton steps on the coefficients, with priors whose width the data choose."""

from dataclasses import dataclass, replace

import numpy as np

from ..likelihood import AbstractLikelihood, EulerMaruyama
from ..models import Coefficients
from ..models.coefficients import COMPONENTS
from .information import ROWS_EACH, fisher
from .local_posterior import LocalPosterior, prior, width
from .rim import Rim
from .sample import Sample
from .scores import BELOW_MEDIAN, Scores, log_densities, mean_loss, scores, values

# Pairs that tell where the middle of the log-densities is.
LOOKED_AT = 32_768
TRIALS, LEAST_DAMPING = 7, 1e-4
# A step must bring so much of what it promised; by which factors it may move the precisions, tried in turn.
KEPT, PACES = 0.25, (np.inf, 10.0, 10**0.5)
# Rows of J for every coefficient on the way there: a step leaves a quarter of the rest, not a sixteenth.
FEWER_ROWS = 16
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
        held: How many of the paces the last step found too fast, and by how much it was damped.
    """

    vector: np.ndarray
    precision: np.ndarray
    information: np.ndarray
    found: Scores
    expected_gain: float
    held: tuple[int, float] = (0, 0.0)

    def prior(self, weights: Coefficients) -> np.ndarray:
        """The precision of every coefficient; a trace of one on constants keeps the solve regular."""
        return prior(weights, self.precision, self.information)

    @property
    def local_posterior(self) -> LocalPosterior:
        """Around `vector`, what falls on the rim being a part of the information already."""
        nothing, everything = np.zeros((0, len(self.vector))), np.ones(len(self.vector), bool)
        gradient = self.found.gradient
        return LocalPosterior(self.vector, gradient, self.information, np.zeros(0), nothing, everything)

    def without(self, weights: Coefficients, names: tuple[str, ...]) -> "Solution":
        """With the readouts of components left out, all of which are switched off."""
        components = [COMPONENTS.index(name) for name in names]
        kept = ~(weights.penalised & np.isin(weights.component, components))
        return replace(
            self,
            vector=self.vector[kept],
            precision=self.precision[~np.isin(weights.group_owner, components)],
            information=self.information[np.ix_(kept, kept)],
            found=Scores(self.found.value, self.found.blocks[:, kept]),
        )


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
    part: float = 1.0,
    moving: tuple[str, ...] = COMPONENTS,
) -> Solution:
    """Gauss-Newton steps up the log-posterior until a step is expected to gain less than `enough` nats.

    With score g, information F and prior precisions L the step solves (F + L) x = g + F theta. What V
    costs on the rim is a part of g and F.

    With every step the precisions go to the maximum of the evidence of this quadratic model, one
    group at a time: a group that the data do not call for gets an infinite precision and vanishes. Where the
    model promises too much, so does its evidence, and priors chosen by it would lead astray. So such a step
    is taken only if the data's log-density changes as the model says; otherwise the precisions may change
    less, and then not at all, where the step is damped until it keeps a part of its promise (Marquardt).

    V and W enter the drift as a product, and may move far against each other with next to no change of the
    drift; then their product breaks the promise. So W, in which the drift is linear, is solved for once more
    at the V of such a step and of every damped one (variable projection, Golub and Pereyra 1973). Without
    that no step that changes precisions would be taken where W is several times M, and a V that was too flat
    at first would stay so under priors that fit it.

    Where the data are a part of all, their noise sets the goal: it moves the maximum by half a nat for each
    effective coefficient, and half of that is near enough.

    Only the components named in `moving` move.
    """
    vector, precision = solution.vector, solution.precision
    free = np.isin(weights.component, [COMPONENTS.index(name) for name in moving])
    seen = data.some(LOOKED_AT, np.random.default_rng(seed))
    # Twenty nats below the middle: a Gaussian of any dimension has none there.
    middle = float(np.nanmedian(log_densities(weights, vector, likelihood, seen)))
    floor = middle - BELOW_MEDIAN
    F = found = None
    rows = ROWS_EACH if part == 1 else FEWER_ROWS
    alone = moving[0] if len(moving) == 1 else None
    of_W = free & (weights.component == COMPONENTS.index("circulation"))
    # Where W moves alone a step is the solution for W already.
    projects = bool(of_W.any() and (free & ~of_W).any())

    def solved_for_W(x: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """The best W for V and sigma as they are in x: the drift is linear in it."""
        g = scores(weights, x, likelihood, data, floor=floor).gradient
        F_W = fisher(weights, x, likelihood, data, seed=seed, rows_each=rows, of="circulation")
        around = LocalPosterior(x, g, F_W, *rim.rises(weights, x), of_W)
        return around.maximum(weights, precision)[0]

    def height(x: np.ndarray) -> float:
        """The data's log-density less what the rim costs."""
        return values(weights, x, likelihood, data, floor=floor) - rim.cost(weights, x)

    def promise(quadratic: LocalPosterior, x: np.ndarray) -> float:
        """By how much that would rise if it were quadratic."""
        nothing = np.zeros_like(x)
        return quadratic.height(x, nothing) - quadratic.height(quadratic.center, nothing)

    gain, settled, (held, damping) = float("inf"), False, solution.held
    for step in range(most_steps):
        found = scores(weights, vector, likelihood, data, floor=floor)
        F = fisher(weights, vector, likelihood, data, seed=seed + step, rows_each=rows, of=alone)
        if not (np.isfinite(found.gradient).all() and np.isfinite(F).all()):
            gain = float("inf")
            break
        quadratic = LocalPosterior(vector, found.gradient, F, *rim.rises(weights, vector), free)
        before = found.value - rim.cost(weights, vector)
        taken = False
        # What was too fast a step ago is likely to be so again; one pace more is tried.
        for number in range(max(held - 1, 0), len(PACES)):
            x, tuned = quadratic.solved(weights, precision, PACES[number])
            promised, kept = promise(quadratic, x), height(x) - before
            least = promised - abs(promised) / 2 - LEEWAY
            if kept < least and projects:
                x = solved_for_W(x, tuned)
                kept = height(x) - before
            taken = kept > least
            held = number if taken else len(PACES)
            if taken:
                vector, precision, gain = x, tuned, abs(promised - kept)
                break
        whole = held == 0
        L = prior(weights, precision, F) * weights.penalised
        for trial in range(0 if taken else TRIALS):
            x = quadratic.damped(weights, precision, damping)
            promised = promise(quadratic, x)
            if projects:
                x = solved_for_W(x, precision)
            kept = height(x) - before
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
        # Precisions that have not had their way yet may still change everything: they get one more step.
        noise = quadratic.effective(weights, precision) * (1 - part) / 4 if part < 1 else 0.0
        settled, was_settled = gain < max(enough, noise), settled
        if not taken or (settled and (whole or was_settled)):
            break
    assert F is not None and found is not None
    rises, gradients = rim.rises(weights, vector)
    falling = gradients[rises < 0]
    F = np.nan_to_num(F + falling.T @ falling, nan=0.0, posinf=0.0, neginf=0.0)
    found = Scores(found.value, np.nan_to_num(found.blocks, nan=0.0, posinf=0.0, neginf=0.0))
    return Solution(vector, precision, F, found, float(gain), (held, damping))


def log_evidence(weights: Coefficients, solution: Solution, data: Sample, rim: Rim) -> float:
    """Of pairs that are straight: their log-density, whatever the coefficients are, by Laplace's method."""
    x = solution.vector
    height = -len(data) * mean_loss(weights, x, EulerMaruyama(), data) - rim.cost(weights, x)
    return height + width(weights, x, solution.precision, solution.information)


def carried_over(weights: Coefficients, precision: np.ndarray) -> Solution:
    """A solution to start from: values as they are, nothing known about them."""
    return Solution(weights.vector, precision, np.zeros((0, 0)), Scores(0.0, np.zeros((0, 0))), float("inf"))


def known(
    weights: Coefficients,
    likelihood: AbstractLikelihood,
    data: Sample,
    rim: Rim,
    *,
    seed: int,
    total: int | None = None,
    precision: np.ndarray | None = None,
) -> Solution:
    """What the data know of the coefficients where they are, without a step.

    Args:
        weights: The coefficients.
        likelihood: The transition density.
        data: All pairs, or some.
        rim: Where V must not fall.
        seed: Of the pairs that tell the information.
        total: Of pairs, if these are some.
        precision: Of the priors; those of the largest evidence by default.
    """
    vector = weights.vector
    seen = data.some(LOOKED_AT, np.random.default_rng(seed))
    floor = float(np.nanmedian(log_densities(weights, vector, likelihood, seen))) - BELOW_MEDIAN
    scale = (total or len(data)) / len(data)
    F = fisher(weights, vector, likelihood, data, seed=seed) * scale
    found = scores(weights, vector, likelihood, data, floor=floor)
    # Blocks hold a part of their pairs: their sum is that part of all, what they vary by its root.
    mean = found.blocks.mean(axis=0)
    found = Scores(found.value * scale, mean * scale + (found.blocks - mean) * scale**0.5)
    everything = np.ones(len(vector), bool)
    quadratic = LocalPosterior(vector, found.gradient, F, *rim.rises(weights, vector), everything)
    if precision is None:
        _, precision = quadratic.solved(weights, weights.usual_precision)
    return Solution(vector, precision, F + quadratic.bowl(vector), found, 0.0)
