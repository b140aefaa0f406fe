"""Gauss-Newton steps on the coefficients, with priors whose width the data choose."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...likelihood import AbstractLikelihood
from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from .fisher_information import ROWS_EACH, fisher
from .local_posterior import LocalPosterior, laplace_volume, prior
from .outside_barrier import OutsideBarrier
from .sample import Sample
from .scores import Scores, floor_of, log_densities, mean_loss, scores, values

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

    @classmethod
    def start(cls, coefficients: Coefficients, precision: np.ndarray) -> "Solution":
        """Values as they are, nothing known about them."""
        nothing = np.zeros((0, 0))
        return cls(coefficients.vector, precision, nothing, Scores(0.0, nothing), float("inf"))

    def prior(self, coefficients: Coefficients) -> np.ndarray:
        """The precision of every coefficient; a trace of one on constants keeps the solve regular."""
        return prior(coefficients, self.precision, self.information)

    @property
    def local_posterior(self) -> LocalPosterior:
        """Around `vector`; the barrier outside the data is a part of the information already."""
        nothing, everything = np.zeros((0, len(self.vector))), np.ones(len(self.vector), bool)
        gradient = self.found.gradient
        return LocalPosterior(self.vector, gradient, self.information, np.zeros(0), nothing, everything)

    def without(self, coefficients: Coefficients, names: tuple[str, ...]) -> "Solution":
        """With the readouts of components left out, all of which are switched off."""
        components = [COMPONENTS.index(name) for name in names]
        kept = ~(coefficients.penalised & np.isin(coefficients.component, components))
        return replace(
            self,
            vector=self.vector[kept],
            precision=self.precision[~np.isin(coefficients.group_owner, components)],
            information=self.information[np.ix_(kept, kept)],
            found=Scores(self.found.value, self.found.blocks[:, kept]),
        )


@dataclass(frozen=True)
class Posterior:
    """The log-posterior of a model's coefficients, but for the widths of the priors, which are sought, too.

    Attributes:
        coefficients: Of the model.
        likelihood: The transition density.
        data: All pairs, or some.
        outside: Where V must not fall.
        total: How many pairs there are in all.
        seed: Of the pairs that tell the information.
    """

    coefficients: Coefficients
    likelihood: AbstractLikelihood
    data: Sample
    outside: OutsideBarrier
    total: int
    seed: int

    @property
    def share(self) -> float:
        """Of all pairs."""
        return len(self.data) / self.total

    def floor(self, x: np.ndarray) -> float:
        """Below it a pair's log-density is bounded."""
        seen = self.data.some(LOOKED_AT, np.random.default_rng(self.seed))
        return floor_of(log_densities(self.coefficients, x, self.likelihood, seen))

    def scores(self, x: np.ndarray, floor: float) -> Scores:
        """Value and gradient of the data's log-density."""
        return scores(self.coefficients, x, self.likelihood, self.data, floor=floor)

    def height(self, x: np.ndarray, floor: float) -> float:
        """The data's log-density less what the barrier outside the data costs."""
        found = values(self.coefficients, x, self.likelihood, self.data, floor=floor)
        return found - self.outside.cost(self.coefficients, x)

    def log_evidence(self, solution: Solution) -> float:
        """The log-density of the data whatever the coefficients are, by Laplace's method."""
        x = solution.vector
        found = -len(self.data) * mean_loss(self.coefficients, x, self.likelihood, self.data)
        found -= self.outside.cost(self.coefficients, x)
        return found + laplace_volume(self.coefficients, x, solution.precision, solution.information)

    def solution_here(self, precision: np.ndarray | None = None) -> Solution:
        """What the data know of the coefficients where they are, without a step.

        Args:
            precision: Of the priors; those of the largest evidence by default.
        """
        x, scale = self.coefficients.vector, 1 / self.share
        floor = self.floor(x)
        F = fisher(self.coefficients, x, self.likelihood, self.data, seed=self.seed) * scale
        found = self.scores(x, floor)
        # Blocks hold a part of their pairs: their sum is that part of all, what they vary by its root.
        mean = found.blocks.mean(axis=0)
        found = Scores(found.value * scale, mean * scale + (found.blocks - mean) * scale**0.5)
        everything, rises = np.ones(len(x), bool), self.outside.rises(self.coefficients, x)
        quadratic = LocalPosterior(x, found.gradient, F, *rises, everything)
        if precision is None:
            _, precision = quadratic.solved(self.coefficients, self.coefficients.usual_precision)
        return Solution(x, precision, F + quadratic.curvature_of_barrier(x), found, 0.0)


def maximise(
    posterior: Posterior,
    solution: Solution,
    *,
    most_steps: int,
    enough: float,
    moving: tuple[str, ...] = COMPONENTS,
) -> Solution:
    """Gauss-Newton steps up the log-posterior until a step is expected to gain less than `enough` nats.

    With score g, information F and prior precisions L the step solves (F + L) x = g + F theta. What V
    costs outside the data is a part of g and F.

    With every step the precisions go to the maximum of the evidence of this quadratic model, one
    group at a time: a group that the data do not call for gets an infinite precision and vanishes. Where the
    model promises too much, so does its evidence, and priors chosen by it would mislead. So such a step
    is taken only if the data's log-density changes as the model says; otherwise the precisions may change
    less, and then not at all, where the step is damped until it keeps a part of its promise (Marquardt).

    V and W enter the drift as a product, and may move far against each other with next to no change of the
    drift; then their product breaks the promise. So W, in which the drift is linear, is solved for once more
    at the V of such a step and of every damped one (variable projection, Golub and Pereyra 1973). Without
    that no step that changes precisions would be taken where W is several times M, and a V that was too flat
    at first would stay so under priors that fit it.

    Where the data are a part of all, their noise sets the goal: it moves the maximum by half a nat for each
    effective coefficient, and half of that is near enough.

    Args:
        posterior: What is climbed.
        solution: Where from.
        most_steps: At most.
        enough: Nats that may be left.
        moving: The components whose coefficients move.
    """
    steps, settled = _Steps(posterior, solution, moving), False
    for number in range(most_steps):
        if not steps.linearise(number):
            break
        taken = steps.with_new_priors() or steps.damped()
        noise = steps.noise_of_goal()
        settled, was_settled = steps.gain < max(enough, noise), settled
        # Precisions that have not had their way yet may still change everything: they get one more step.
        if not taken or (settled and (steps.unhindered or was_settled)):
            break
    return steps.solution


class _Steps:
    """Where an ascent stands, and the two kinds of steps that it may take."""

    def __init__(self, posterior: Posterior, solution: Solution, moving: tuple[str, ...]):
        own = posterior.coefficients
        self.posterior, self.coefficients = posterior, own
        self.vector, self.precision, (self.held, self.damping) = (
            solution.vector, solution.precision, solution.held,
        )  # fmt: skip
        self.free = np.isin(own.component, [COMPONENTS.index(name) for name in moving])
        self.of_W = self.free & (own.component == COMPONENTS.index("circulation"))
        # Where W moves alone a step is the solution for W already.
        self.projects = bool(self.of_W.any() and (self.free & ~self.of_W).any())
        self.alone = moving[0] if len(moving) == 1 else None
        self.rows = ROWS_EACH if posterior.share == 1 else FEWER_ROWS
        self.gain = float("inf")

    @cached_property
    def floor(self) -> float:
        """As it is at the start."""
        return self.posterior.floor(self.vector)

    def linearise(self, number: int) -> bool:
        """Scores and information where the ascent stands; whether they are finite."""
        posterior, x = self.posterior, self.vector
        self.found = posterior.scores(x, self.floor)
        self.F = fisher(
            self.coefficients, x, posterior.likelihood, posterior.data,
            seed=posterior.seed + number, rows_each=self.rows, of=self.alone,
        )  # fmt: skip
        if not (np.isfinite(self.found.gradient).all() and np.isfinite(self.F).all()):
            self.gain = float("inf")
            return False
        rises = posterior.outside.rises(self.coefficients, x)
        self.quadratic = LocalPosterior(x, self.found.gradient, self.F, *rises, self.free)
        self.before = self.found.value - posterior.outside.cost(self.coefficients, x)
        return True

    def with_new_priors(self) -> bool:
        """A whole step with the priors of the largest evidence; whether one was taken."""
        # What was too fast a step ago is likely to be so again; one pace more is tried.
        for number in range(max(self.held - 1, 0), len(PACES)):
            x, tuned = self.quadratic.solved(self.coefficients, self.precision, PACES[number])
            promised, kept = self._promise(x), self._rise(x)
            least = promised - abs(promised) / 2 - LEEWAY
            if kept < least and self.projects:
                x = self._solved_for_W(x, tuned)
                kept = self._rise(x)
            if kept > least:
                self.held = number
                self.vector, self.precision, self.gain = x, tuned, abs(promised - kept)
                return True
        self.held = len(PACES)
        return False

    def damped(self) -> bool:
        """A step under the priors as they are, shorter and shorter; whether one was taken."""
        L = prior(self.coefficients, self.precision, self.F) * self.coefficients.penalised
        for trial in range(TRIALS):
            x = self.quadratic.damped(self.coefficients, self.precision, self.damping)
            promised = self._promise(x)
            if self.projects:
                x = self._solved_for_W(x, self.precision)
            of_prior = (self.vector @ (L * self.vector) - x @ (L * x)) / 2
            promised, kept = promised + of_prior, self._rise(x) + of_prior
            if trial == 0:
                self.gain = promised
            if kept > KEPT * promised:
                # What was promised and not kept is left.
                self.vector, self.gain = x, abs(self.gain - kept)
                if kept > promised / 2:
                    self.damping = self.damping / 10 if self.damping > LEAST_DAMPING else 0.0
                return True
            self.damping = max(10 * self.damping, LEAST_DAMPING)
        return False

    @property
    def unhindered(self) -> bool:
        """Whether the last step moved the precisions as far as the evidence has it."""
        return self.held == 0

    def noise_of_goal(self) -> float:
        """How many nats of what is left are noise of a part of the data."""
        share = self.posterior.share
        if share == 1:
            return 0.0
        return self.quadratic.effective(self.coefficients, self.precision) * (1 - share) / 4

    @property
    def solution(self) -> Solution:
        """Where the ascent stands, and what is known there."""
        rises, gradients = self.posterior.outside.rises(self.coefficients, self.vector)
        falling = gradients[rises < 0]
        F = np.nan_to_num(self.F + falling.T @ falling, nan=0.0, posinf=0.0, neginf=0.0)
        found = Scores(self.found.value, np.nan_to_num(self.found.blocks, nan=0.0, posinf=0.0, neginf=0.0))
        return Solution(self.vector, self.precision, F, found, float(self.gain), (self.held, self.damping))

    def _solved_for_W(self, x: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """The best W for V and sigma as they are in x: the drift is linear in it."""
        posterior = self.posterior
        g = posterior.scores(x, self.floor).gradient
        F_W = fisher(
            self.coefficients, x, posterior.likelihood, posterior.data,
            seed=posterior.seed, rows_each=self.rows, of="circulation",
        )  # fmt: skip
        around = LocalPosterior(x, g, F_W, *posterior.outside.rises(self.coefficients, x), self.of_W)
        return around.maximum(self.coefficients, precision)[0]

    def _rise(self, x: np.ndarray) -> float:
        """By how much the data's log-density, less the barrier's cost, rises."""
        return self.posterior.height(x, self.floor) - self.before

    def _promise(self, x: np.ndarray) -> float:
        """By how much it would if it were quadratic."""
        nothing = np.zeros_like(x)
        return self.quadratic.height(x, nothing) - self.quadratic.height(self.quadratic.center, nothing)
