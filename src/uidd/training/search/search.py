"""From the linear start to the networks that the data call for, in a few stages of Gauss-Newton steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._types import Result
from ...dynamics import ComponentDynamics
from ...likelihood import (
    AbstractGaussian,
    AbstractLikelihood,
    Cubature,
    EulerMaruyama,
    StepChoice,
    choose_steps,
)
from ...models import Architecture, Coefficients
from ..driver import AbstractRun
from ..history import EpochRecord
from ..regression.gains import MOST_PAIRS, Gain, both_gains, drift_gain, folds_of, noise_gain
from ..solvers.local_posterior import TIGHTEST
from ..solvers.outside_barrier import OutsideBarrier
from ..solvers.posterior import Posterior, Solution
from ..solvers.sample import Sample
from ..solvers.scores import mean_loss, whitened
from .candidates import Candidates
from .first_stage import first_stage
from .iterated import iterated
from .pruning import pruned_coefficients, pruned_stage
from .stage import NO_NOISE_TEST, Stage

# Pairs of the first stages: the way is found on few, the end is set by all.
FEW = 16_384
# Nats that one more step over all data may still gain, and those beyond which the result says so.
ENOUGH, TOO_MUCH = 8.0, 16.0
# What the step error of the likelihood may cost, in nats. Where networks are in the model some tens of
# degrees of freedom share it, each of which gains half a nat from noise.
MOST_LOST, MOST_LOST_NONLINEAR = 0.5, 8.0
# Of pairs, that count in the choice of a likelihood while the model may still be far off at the others.
KEPT_FRACTION = 0.98
# Finer likelihoods would take hours; a result says when this one is too coarse.
FINEST = Cubature(4, 4)


@dataclass(frozen=True)
class Found:
    """Where the search ended.

    Attributes:
        dynamics: In unit-size coordinates.
        architecture: With the networks that are in the model.
        coefficients: Of it.
        solution: Their values and what is known of them.
        likelihood: The transition density that was used.
        tests: Whether the drift is nonlinear and the noise varies.
        result: Whether the search settled.
        with_networks: Of a model without networks: the same with all at zero, and what is known of it.
    """

    dynamics: ComponentDynamics
    architecture: Architecture
    coefficients: Coefficients
    solution: Solution
    likelihood: AbstractLikelihood
    tests: tuple[Gain, ...]
    result: Result
    with_networks: tuple[Coefficients, Solution] | None


class Search(AbstractRun[Stage]):
    """The stages, one after the other.

    V, W and sigma enter the drift as products. The first stage is a drift without structure, from which V and
    W come by nearly linear problems, with the noise given (`drift`). If what it leaves says that the
    noise varies, sigma's network comes in, too. Then everything moves under the finer likelihood (`few`),
    and all pairs have their say (`all`). Units that the data do not call for are switched off by their
    priors on the way.
    """

    def __init__(
        self,
        candidates: Candidates,
        likelihood: AbstractLikelihood | None,
        data: Sample,
        held_out: Sample,
        *,
        stationary: bool,
        seed: int,
    ):
        self.candidates = candidates
        self.likelihood, self.data, self.held_out = likelihood, data, held_out
        self.stationary, self.seed = stationary, seed

    @property
    def most_steps(self) -> int:
        """The linear start and three stages."""
        return 4

    def begin(self) -> Stage:
        """The linear start, and whether the data call for more."""
        scheme = None
        if self.likelihood is None:
            choice = self._chosen(self.candidates.plain)
            scheme = (choice.likelihood.steps, choice.likelihood.order)
        possible = self.candidates.possible
        tests = self._tests() if possible else ()
        called = any(test.called_for for test in tests)
        # It is the drift that is nonlinear: V and W both get their networks, and the priors sort out which.
        networks = tuple(name for name in possible if name != "diffusion") or possible
        networks = networks if called else ()
        first = self._losses((), Coefficients.of(self.candidates.plain), self._likelihood(scheme), 0)
        return Stage.start(networks, Coefficients.of(self.candidates.model(networks)), scheme, tests, first)

    def unstarted(self) -> Stage:
        """The linear start, nothing known."""
        scheme = None if self.likelihood is not None else (1, 4)
        record = EpochRecord(0, 0, float("nan"), float("nan"))
        return Stage.start((), Coefficients.of(self.candidates.plain), scheme, (), record)

    def advance(self, state: Stage) -> Stage:
        """The next stage."""
        return self.following(state)(state)

    def following(self, stage: Stage) -> Callable[[Stage], Stage]:
        """What comes after a stage."""
        if stage.name == "start" and {"potential", "circulation"} & set(stage.networks):
            return self._from_free_drift
        if stage.name in ("start", "drift") and stage.networks:
            return self._on_few
        return self._on_all

    def is_done(self, state: Stage) -> bool:
        """Whether all pairs have had their say."""
        return state.solution is not None

    def record(self, state: Stage) -> EpochRecord:
        """The last."""
        return state.history[-1]

    def place(self, state: Stage) -> str:
        """By its name."""
        return f"after stage '{state.name}'"

    def to_container(self, state: Stage) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Of a stage."""
        return state.to_container()

    def from_container(self, header: dict[str, Any], arrays: list[np.ndarray]) -> Stage:
        """The inverse."""
        return Stage.from_container(header, arrays)

    def found(self, stage: Stage, solution: Solution) -> Found:
        """The result of the last stage."""
        stage, solution = pruned_stage(self.candidates, self.dynamics_of(stage), stage, solution)
        coefficients = Coefficients.of(self.dynamics_of(stage))
        dynamics = coefficients.dynamics(solution.vector)
        likelihood, result = self.likelihood_of(stage), Result()
        if solution.expected_gain > TOO_MUCH:
            words = f"The search stopped {solution.expected_gain:.2g} nats below where the data point."
            result = Result("still_improving", words)
        with_networks = None
        if not stage.networks and self.candidates.possible:
            with_networks = self._networks_at_zero(dynamics, likelihood)
        return Found(
            dynamics=dynamics,
            architecture=self.candidates.specification(stage.networks),
            coefficients=coefficients,
            solution=solution,
            likelihood=likelihood,
            tests=stage.tests,
            result=result,
            with_networks=with_networks,
        )

    def dynamics_of(self, stage: Stage) -> ComponentDynamics:
        """The model at the end of a stage."""
        model = self.candidates.model(stage.networks)
        if len(stage.reference):
            model = self.candidates.referring(model, stage.reference)
        return Coefficients.of(model).dynamics(stage.vector)

    def likelihood_of(self, stage: Stage) -> AbstractLikelihood:
        """The transition density that a stage used."""
        return self._likelihood(stage.scheme)

    @cached_property
    def outside(self) -> OutsideBarrier:
        """Places beyond the data."""
        return OutsideBarrier.of(self.data.pairs.start)

    def _tests(self) -> tuple[Gain, Gain]:
        """Is the drift nonlinear, and if not, does the noise vary? Some pairs are often enough."""
        some = self.data.some(2 * FEW, np.random.default_rng([self.seed, 0]))
        drift = drift_gain(*some.pairs, folds_of(some.block))
        if drift.called_for:
            return drift, NO_NOISE_TEST
        some = self.data.some(MOST_PAIRS, np.random.default_rng([self.seed, 0]))
        return both_gains(*some.pairs, folds_of(some.block))

    def _from_free_drift(self, stage: Stage) -> Stage:
        """V and W, and sigma too where its noise varies, for the free drift."""
        stage = self._with_varying_noise(stage)
        some = self.data.some(4 * FEW, np.random.default_rng([self.seed, 3]))
        return first_stage(
            self.candidates,
            stage,
            self.dynamics_of(stage),
            self._euler_pairs(some),
            self._euler_pairs(self._few(FEW)),
            self._outside(stage),
            stationary=self.stationary,
            enough=ENOUGH,
            total=len(self.data),
            seed=self.seed,
        )

    def _on_few(self, stage: Stage) -> Stage:
        return self._climbed(stage, "few", self._few(2 * FEW), 8)

    def _on_all(self, stage: Stage) -> Stage:
        # From a solution that a part of the data found one step over all of them is nearly enough.
        return self._climbed(stage, "all", self.data, 1)

    def _climbed(self, stage: Stage, name: str, data: Sample, most_steps: int) -> Stage:
        """Gauss-Newton steps on a part of the data, or on all."""
        present, scheme, is_last = self.dynamics_of(stage), stage.scheme, name == "all"
        if scheme is not None:
            scheme = self._scheme(present, stage, counted=KEPT_FRACTION)
        coefficients = Coefficients.of(present)

        def pruned(solution: Solution) -> Coefficients:
            return pruned_coefficients(self.candidates, coefficients, solution, stage.networks)

        def finer(solution: Solution, scheme: tuple[int, int]) -> tuple[int, int]:
            if not is_last:
                return scheme
            return max(scheme, self._scheme(coefficients.dynamics(solution.vector), stage))

        def posterior(likelihood: AbstractLikelihood, pairs: Sample) -> Posterior:
            return Posterior(coefficients, likelihood, pairs, self._outside(stage), len(self.data), self.seed)

        solution, scheme = iterated(
            posterior,
            Solution.start(coefficients, stage.precision),
            data,
            scheme,
            likelihood=self._likelihood,
            pruned=pruned,
            finer=finer,
            most_steps=most_steps,
            enough=ENOUGH,
        )
        record = self._losses(stage.history, pruned(solution), self._likelihood(scheme), len(data))
        return replace(
            stage,
            name=name,
            scheme=scheme,
            vector=solution.vector,
            precision=solution.precision,
            history=(*stage.history, record),
            solution=solution if is_last else None,
        )

    def _networks_at_zero(
        self, dynamics: ComponentDynamics, likelihood: AbstractLikelihood
    ) -> tuple[Coefficients, Solution]:
        """The linear model with all networks at zero, and what the data know of these.

        Data that do not call for a network do not exclude one: how far V and W could be from linear has to
        show in the ensemble.
        """
        coefficients = Coefficients.of(self.candidates.with_all_networks(dynamics))
        data = self.data.some(FEW // 2, np.random.default_rng([self.seed, 3]))
        if isinstance(likelihood, AbstractGaussian):
            linear = Coefficients.of(dynamics)
            data = whitened(linear, linear.vector, likelihood, data).euler_pairs
            likelihood = EulerMaruyama()
        posterior = Posterior(coefficients, likelihood, data, self.outside, len(self.data), self.seed)
        return coefficients, posterior.solution_here(np.full(coefficients.groups, TIGHTEST))

    def _outside(self, stage: Stage) -> OutsideBarrier:
        """None for a V that is quadratic and needs no guard."""
        if "potential" in stage.networks:
            return self.outside
        return OutsideBarrier.none(self.data.pairs.start.shape[1])

    def _few(self, size: int) -> Sample:
        """Pairs of the first stages, spread over space.

        The density of a transition is that of the increment, given the start: starts may be chosen in any
        way. What a model does where the data thin out would otherwise be found out when all pairs count.
        """
        return self.data.evenly(size, np.random.default_rng([self.seed, 3]))[0]

    def _euler_pairs(self, some: Sample) -> Sample:
        """Pairs as Euler's scheme would have made them of the free drift's noise."""
        return replace(some, pairs=self.candidates.free.as_euler_steps(some.pairs))

    def _scheme(self, dynamics: ComponentDynamics, stage: Stage, *, counted: float = 1.0) -> tuple[int, int]:
        """Steps and order that the likelihood needs for a model."""
        likelihood = self._chosen(dynamics, nonlinear=bool(stage.networks), counted=counted).likelihood
        return likelihood.steps, likelihood.order

    def _with_varying_noise(self, stage: Stage) -> Stage:
        """Whether the noise varies that the free drift leaves; then sigma's network comes in."""
        if "diffusion" not in self.candidates.possible:
            return stage
        chosen, xi = self.candidates.free_residuals
        noise = noise_gain(self.data.pairs.start[chosen], xi, folds_of(self.data.block[chosen]))
        stage = stage.with_noise_test(noise)
        if not noise.called_for:
            return stage
        networks = (*stage.networks, "diffusion")
        return stage.with_networks(networks, Coefficients.of(self.candidates.model(networks)))

    def _likelihood(self, scheme: tuple[int, int] | None) -> AbstractLikelihood:
        if scheme is None:
            assert self.likelihood is not None
            return self.likelihood
        return Cubature(*scheme)

    def _chosen(
        self, dynamics: ComponentDynamics, *, nonlinear: bool = False, counted: float = 1.0
    ) -> StepChoice:
        pairs = self.data.pairs
        return choose_steps(
            dynamics,
            pairs.start,
            pairs.dt,
            len(self.data),
            at_most=FINEST,
            most_lost=MOST_LOST_NONLINEAR if nonlinear else MOST_LOST,
            counted=counted,
        )

    def _losses(
        self, history: tuple[EpochRecord, ...], coefficients: Coefficients, likelihood: AbstractLikelihood,
        seen: int,
    ) -> EpochRecord:  # fmt: skip
        """Losses in nats a pair; the held-out data only watch."""
        generator = np.random.default_rng([self.seed, 2])
        some = (part.some(FEW // 2, generator) for part in (self.data, self.held_out))
        losses = [mean_loss(coefficients, coefficients.vector, likelihood, part) for part in some]
        steps = history[-1].step if history else 0
        return EpochRecord(len(history), steps + seen, *losses)
