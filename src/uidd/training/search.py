"""From the linear start to the networks that the data call for, in a few legs of Gauss-Newton steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._types import Result
from ..dynamics import ComponentDynamics
from ..likelihood import (
    AbstractGaussian,
    AbstractLikelihood,
    Cubature,
    EulerMaruyama,
    StepChoice,
    choose_steps,
)
from ..models import Architecture, Coefficients
from ..models.coefficients import COMPONENTS
from .candidates import Candidates
from .gains import MOST_PAIRS, Gain, both_gains, drift_gain, folds_of, noise_gain
from .gauss_newton import Solution, carried_over, climb, known
from .history import EpochRecord
from .leg import Leg
from .local_posterior import MEANINGLESS, TIGHTEST
from .rim import Rim
from .sample import Sample
from .scores import mean_loss, whitened
from .ways_in import way_in

# Pairs of the first legs: the way is found on few, the end is set by all.
FEW = 16_384
# Of making the pairs straight anew; each leaves a part of the way that is as small as an interval is short.
ROUNDS = 6
# Nats that one more step over all data may still gain, and those beyond which the result says so.
ENOUGH, TOO_MUCH = 8.0, 16.0
# What the step error of the likelihood may cost, in nats. Where networks are in the model some tens of
# degrees of freedom share it, each of which gains half a nat from noise.
MOST_LOST, MOST_LOST_BENT = 0.5, 8.0
# Pairs that count in the choice while the model may still be wild beyond the others.
TAME = 0.98
NONE = np.zeros(0)
# Finer likelihoods would take hours; a result says when this one is too coarse.
FINEST = Cubature(4, 4)


@dataclass(frozen=True)
class Found:
    """Where the search ended.

    Attributes:
        dynamics: In unit-size coordinates.
        architecture: With the networks that are in the model.
        weights: Its coefficients.
        solution: Their values and what is known of them.
        likelihood: The transition density that was used.
        tests: Whether the drift bends and the noise varies.
        result: Whether the search settled.
        could_bend: Of a model without networks: the same with all of them at zero, and what is known of it.
    """

    dynamics: ComponentDynamics
    architecture: Architecture
    weights: Coefficients
    solution: Solution
    likelihood: AbstractLikelihood
    tests: tuple[Gain, ...]
    result: Result
    could_bend: tuple[Coefficients, Solution] | None


def _relief(weights: Coefficients, now: Solution, before: Solution) -> float:
    """By how much less the priors cost, in nats."""
    L = now.prior(weights) * weights.penalised
    return float(before.vector @ (L * before.vector) - now.vector @ (L * now.vector)) / 2


class Search:
    """The legs, one after the other; `advance` is a pure function of the leg before."""

    def __init__(
        self,
        candidates: Candidates,
        likelihood: AbstractLikelihood | None,
        data: Sample,
        held_out: Sample,
        *,
        stationary: bool,
        seed: int,
        show: Callable[[EpochRecord], None] = lambda _: None,
    ):
        self.candidates = candidates
        self.likelihood, self.data, self.held_out = likelihood, data, held_out
        self.stationary, self.seed, self.show = stationary, seed, show

    @cached_property
    def rim(self) -> Rim:
        """Places beyond the data."""
        return Rim.of(self.data.pairs.start)

    def begin(self) -> Leg:
        """The linear start, and whether the data call for more."""
        scheme = None
        if self.likelihood is None:
            choice = self._chosen(self.candidates.plain)
            scheme = (choice.likelihood.steps, choice.likelihood.order)
        possible = self.candidates.possible
        tests = self._asked() if possible else ()
        called = any(test.called_for for test in tests)
        # What bends is the drift: V and W both get their networks, and the priors sort out which.
        on = tuple(name for name in possible if name != "diffusion") or possible
        on = on if called else ()
        weights = Coefficients.of(self.candidates.model(on))
        first = self._record((), Coefficients.of(self.candidates.plain), self._likelihood(scheme), 0)
        return Leg("start", on, weights.vector, weights.usual_precision, NONE, scheme, tests, (first,))

    def _asked(self) -> tuple[Gain, Gain]:
        """Does the drift bend, and if not, does the noise vary? Some pairs are often enough."""
        some = self.data.some(2 * FEW, np.random.default_rng([self.seed, 0]))
        drift = drift_gain(*some.pairs, folds_of(some.block))
        if drift.called_for:
            return drift, Gain("noise", "", 0.0, 1.0)
        some = self.data.some(MOST_PAIRS, np.random.default_rng([self.seed, 0]))
        return both_gains(*some.pairs, folds_of(some.block))

    def advance(self, leg: Leg) -> tuple[Leg, Solution | None]:
        """The next leg; the last one, `all`, comes with its solution.

        V, W and sigma enter the drift as products. The way in is a drift without structure, from which V and
        W come by nearly linear problems, with the noise given (`drift`). If what it leaves says that the
        noise varies, sigma's network comes in, too. Then everything moves under the finer likelihood (`few`),
        and all pairs have their say (`all`). Units that the data do not call for are switched off by their
        priors on the way.
        """
        if leg.name == "start" and {"potential", "circulation"} & set(leg.on):
            return self._drifted(self._asked_about_noise(leg)), None
        if leg.name in ("start", "drift") and leg.on:
            return self._climbed(leg, "few", 8)
        # From a solution that a part of the data found one step over all of them is nearly enough.
        return self._climbed(leg, "all", 1)

    def found(self, leg: Leg, solution: Solution) -> Found:
        """The result of the last leg."""
        leg, solution = self._trimmed(leg, solution)
        weights = Coefficients.of(self.dynamics_of(leg))
        dynamics = weights.dynamics(solution.vector)
        likelihood, result = self.likelihood_of(leg), Result()
        if solution.expected_gain > TOO_MUCH:
            words = f"The search stopped {solution.expected_gain:.2g} nats below where the data point."
            result = Result("still_improving", words)
        could_bend = None
        if not leg.on and self.candidates.possible:
            could_bend = self._what_could_bend(dynamics, likelihood)
        return Found(
            dynamics=dynamics,
            architecture=self.candidates.specification(leg.on),
            weights=weights,
            solution=solution,
            likelihood=likelihood,
            tests=leg.tests,
            result=result,
            could_bend=could_bend,
        )

    def _what_could_bend(
        self, dynamics: ComponentDynamics, likelihood: AbstractLikelihood
    ) -> tuple[Coefficients, Solution]:
        """The linear model with all networks at zero, and what the data know of these.

        Data that do not call for a network do not exclude one: how far V and W could bend has to show in the
        ensemble.
        """
        weights, data = Coefficients.of(self.candidates.bending(dynamics)), self._some(FEW // 2)
        if isinstance(likelihood, AbstractGaussian):
            linear = Coefficients.of(dynamics)
            data = whitened(linear, linear.vector, likelihood, data).straight
            likelihood = EulerMaruyama()
        off = np.full(weights.groups, TIGHTEST)
        return weights, known(
            weights, likelihood, data, self.rim, seed=self.seed, total=len(self.data), precision=off
        )

    def unstarted(self) -> Leg:
        """The linear start, nothing known."""
        weights = Coefficients.of(self.candidates.plain)
        scheme = None if self.likelihood is not None else (1, 4)
        record = EpochRecord(0, 0, float("nan"), float("nan"))
        return Leg("start", (), weights.vector, weights.usual_precision, NONE, scheme, (), (record,))

    def dynamics_of(self, leg: Leg) -> ComponentDynamics:
        """The model at the end of a leg."""
        model = self.candidates.model(leg.on)
        if len(leg.reference):
            model = self.candidates.referring(model, leg.reference)
        return Coefficients.of(model).dynamics(leg.vector)

    def likelihood_of(self, leg: Leg) -> AbstractLikelihood:
        """The transition density that a leg used."""
        return self._likelihood(leg.scheme)

    def _some(self, size: int) -> Sample:
        """Pairs as they come."""
        return self.data.some(size, np.random.default_rng([self.seed, 3]))

    def _few(self, size: int) -> Sample:
        """Pairs of the first legs, spread over space.

        The density of a transition is that of the increment, given the start: starts may be chosen in any
        way. What a model does where the data thin out would otherwise be found out when all pairs count.
        """
        return self.data.evenly(size, np.random.default_rng([self.seed, 3]))[0]

    def _straightened(self, some: Sample) -> Sample:
        """Pairs as Euler's scheme would have made them."""
        return replace(some, pairs=self.candidates.free.straightened(some.pairs))

    def _drifted(self, leg: Leg) -> Leg:
        """V and W, and sigma too, for the free drift."""
        rim = self.rim if "potential" in leg.on else Rim.none(self.data.pairs.start.shape[1])
        return way_in(
            self.candidates,
            leg,
            self.dynamics_of(leg),
            self._straightened(self._some(4 * FEW)),
            self._straightened(self._few(FEW)),
            rim,
            stationary=self.stationary,
            enough=ENOUGH,
            total=len(self.data),
            seed=self.seed,
        )

    def _climbed(self, leg: Leg, name: str, most_steps: int):
        """Gauss-Newton on a part of the data, or on all, made straight by the model as it then is."""
        present, scheme = self.dynamics_of(leg), leg.scheme
        if scheme is not None:
            scheme = self._scheme(present, leg, counted=TAME)
        weights, data = Coefficients.of(present), self.data if name == "all" else self._few(2 * FEW)
        rim = self.rim if "potential" in leg.on else Rim.none(data.pairs.start.shape[1])
        solution, left = carried_over(weights, leg.precision), float("inf")
        best: tuple[Solution, float] | None = None
        for turn in range(ROUNDS + 1):
            before, was = solution.vector, scheme
            likelihood = self._likelihood(scheme)
            gaussian = isinstance(likelihood, AbstractGaussian)
            pairs, height = data, 0.0
            if gaussian:
                lean = self._lean(weights, solution, leg.on)
                made = whitened(lean, lean.vector, likelihood, data)
                pairs, height = made.straight, made.height - rim.cost(weights, before)
                if best is not None and height + _relief(weights, solution, best[0]) < best[1] - ENOUGH:
                    # Pairs that a model makes straight hold something of it, the more the farther frames are
                    # apart: what suits them need not suit the data.
                    solution = replace(solution, vector=(before + best[0].vector) / 2)
                    continue
            if turn == ROUNDS:
                break
            solution = climb(
                weights,
                solution,
                EulerMaruyama() if gaussian else likelihood,
                pairs,
                rim,
                most_steps=most_steps,
                enough=ENOUGH,
                seed=self.seed,
                part=len(data) / len(self.data),
            )
            best = replace(solution, vector=before), height
            move = solution.vector - before
            left = max(float(move @ solution.information @ move) / 2, solution.expected_gain)
            if scheme is not None and name == "all" and left < ENOUGH:
                scheme = max(scheme, self._scheme(weights.dynamics(solution.vector), leg))
            if not gaussian or (left < ENOUGH and scheme == was):
                break
        else:
            assert best is not None
            solution = best[0]
        if isinstance(self._likelihood(scheme), AbstractGaussian):
            solution = replace(solution, expected_gain=left)
        likelihood = self._likelihood(scheme)
        lean = self._lean(weights, solution, leg.on)
        history = (*leg.history, self._record(leg.history, lean, likelihood, len(data)))
        found = {"vector": solution.vector, "precision": solution.precision}
        leg = replace(leg, name=name, scheme=scheme, history=history, **found)
        return leg, solution if name == "all" else None

    def _scheme(self, dynamics: ComponentDynamics, leg: Leg, *, counted: float = 1.0) -> tuple[int, int]:
        """Steps and order that the likelihood needs for a model."""
        likelihood = self._chosen(dynamics, bent=bool(leg.on), counted=counted).likelihood
        return likelihood.steps, likelihood.order

    def _asked_about_noise(self, leg: Leg) -> Leg:
        """Whether the noise varies that the free drift leaves; then sigma's network comes in."""
        if "diffusion" not in self.candidates.possible:
            return leg
        chosen, xi = self.candidates.free_residuals
        noise = noise_gain(self.data.pairs.start[chosen], xi, folds_of(self.data.block[chosen]))
        leg = replace(leg, tests=tuple(noise if each.what == "noise" else each for each in leg.tests))
        if not noise.called_for:
            return leg
        on = tuple(each for each in COMPONENTS if each in leg.on or each == "diffusion")
        weights = Coefficients.of(self.candidates.model(on))
        return replace(leg, on=on, vector=weights.vector, precision=weights.usual_precision)

    def _trimmed(self, leg: Leg, solution: Solution) -> tuple[Leg, Solution]:
        """Without the networks of sigma and W whose units have all been switched off."""
        weights = Coefficients.of(self.dynamics_of(leg))
        on, smaller = self._needed(weights, solution, leg.on), self._lean(weights, solution, leg.on)
        if on == leg.on:
            return leg, solution
        off = tuple(each for each in leg.on if each not in on)
        solution = replace(solution.without(weights, off), vector=smaller.vector)
        leg = replace(leg, on=on, vector=smaller.vector, precision=solution.precision)
        if "diffusion" not in on:
            # What looked like varying noise was a drift that was still rough.
            left = Gain("noise", "", 0.0, 1.0)
            leg = replace(leg, tests=tuple(left if each.what == "noise" else each for each in leg.tests))
        return leg, solution

    def _needed(self, weights: Coefficients, solution: Solution, on: tuple[str, ...]) -> tuple[str, ...]:
        """V's network, and those of sigma and W of which some unit is not switched off; one at least."""

        def in_use(name: str) -> bool:
            own = weights.group_owner == COMPONENTS.index(name)
            return bool((solution.precision[own] < MEANINGLESS * weights.usual_precision[own]).any())

        return tuple(each for each in on if each == "potential" or in_use(each)) or on[-1:]

    def _lean(self, weights: Coefficients, solution: Solution, on: tuple[str, ...]) -> Coefficients:
        """The same model with only those: what is switched off takes time in every pass."""
        needed, present = self._needed(weights, solution, on), weights.dynamics(solution.vector)
        return Coefficients.of(self.candidates.continued(present, needed) if needed != on else present)

    def _likelihood(self, scheme: tuple[int, int] | None) -> AbstractLikelihood:
        if scheme is None:
            assert self.likelihood is not None
            return self.likelihood
        return Cubature(*scheme)

    def _chosen(
        self,
        dynamics: ComponentDynamics,
        *,
        bent: bool = False,
        counted: float = 1.0,
    ) -> StepChoice:
        pairs = self.data.pairs
        return choose_steps(
            dynamics,
            pairs.start,
            pairs.dt,
            len(self.data),
            at_most=FINEST,
            most_lost=MOST_LOST_BENT if bent else MOST_LOST,
            counted=counted,
        )

    def _record(self, history, weights, likelihood, seen) -> EpochRecord:
        """Losses in nats a pair; the held-out data only watch."""
        generator = np.random.default_rng([self.seed, 2])
        some = (part.some(FEW // 2, generator) for part in (self.data, self.held_out))
        losses = [mean_loss(weights, weights.vector, likelihood, part) for part in some]
        steps = history[-1].step if history else 0
        record = EpochRecord(len(history), steps + seen, *losses)
        self.show(record)
        return record
