"""Gauss-Newton steps on the coefficients, with priors whose width the data choose."""

from functools import cached_property

import numpy as np

from ...models.coefficients import COMPONENTS
from .fisher_information import ROWS_EACH, fisher
from .local_posterior import LocalPosterior, prior
from .posterior import Posterior, Solution
from .scores import Scores

TRIALS, LEAST_DAMPING = 7, 1e-4
# A step must bring so much of what it promised; by which factors it may move the precisions, tried in turn.
KEPT, PACES = 0.25, (np.inf, 10.0, 10**0.5)
# Rows of J for every coefficient on the way there: a step leaves a quarter of the rest, not a sixteenth.
FEWER_ROWS = 16
# In nats: what the data's log-density may differ from a promise in any case.
LEEWAY = 9.0


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
