"""From the linear start to the networks that the data call for, in a few legs of Gauss-Newton steps."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import Result
from ..components import ConstantCirculation, ConstantDiffusion
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood, Cubature, EulerMaruyama, StepChoice, choose_steps
from ..models import COMPONENTS, Architecture, Coefficients
from .gauss_newton import Solution, carried_over, climb
from .history import EpochRecord
from .rim import Rim
from .scores import Sample, log_densities
from .selection import NetworkTest, networks_called_for

# Pairs of the first legs: the way is found on few, the end is set by all.
FEW, MANY = 16_384, 32_768
# Nats that one more step over all data may still gain: a fraction of what noise gives the coefficients.
ENOUGH = 8.0
# Finer likelihoods would take hours; a result says when this one is too coarse.
FINEST = Cubature(4, 4)


@dataclass(frozen=True)
class Leg:
    """A stage of the search and all that the next one needs.

    Attributes:
        name: `start`, `drift`, `few` or `all`.
        on: The components whose networks are in the model.
        vector: The coefficients.
        precision: Of the priors.
        scheme: Steps and order of the likelihood; None if it was given.
        tests: What the score tests found.
        history: So far.
    """

    name: str
    on: tuple[str, ...]
    vector: np.ndarray
    precision: np.ndarray
    scheme: tuple[int, int] | None
    tests: tuple[NetworkTest, ...]
    history: tuple[EpochRecord, ...]

    def to_container(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Words and numbers, and arrays."""
        plain = {
            "name": self.name,
            "on": list(self.on),
            "scheme": self.scheme,
            "tests": [asdict(test) for test in self.tests],
            "history": [asdict(record) for record in self.history],
        }
        return plain, [self.vector, self.precision]

    @classmethod
    def from_container(cls, stored: tuple[dict[str, Any], list[np.ndarray]]) -> "Leg":
        """The inverse."""
        plain, (vector, precision) = stored
        return cls(
            name=plain["name"],
            on=tuple(plain["on"]),
            vector=vector,
            precision=precision,
            scheme=tuple(plain["scheme"]) if plain["scheme"] else None,
            tests=tuple(NetworkTest(**test) for test in plain["tests"]),
            history=tuple(EpochRecord(**record) for record in plain["history"]),
        )


@dataclass(frozen=True)
class Found:
    """Where the search ended."""

    dynamics: ComponentDynamics
    architecture: Architecture
    weights: Coefficients
    solution: Solution
    likelihood: AbstractLikelihood
    lost: float
    result: Result


class Search:
    """The legs, one after the other; `advance` is a pure function of the leg before."""

    def __init__(
        self,
        architecture: Architecture,
        built: ComponentDynamics,
        plain: ComponentDynamics,
        bent: tuple[ComponentDynamics, ComponentDynamics],
        likelihood: AbstractLikelihood | None,
        data: Sample,
        held_out: Sample,
        *,
        seed: int,
        show: Callable[[EpochRecord], None] = lambda _: None,
    ):
        self.architecture, self.built, self.plain = architecture, built, plain
        self.bent = bent
        self.likelihood, self.data, self.held_out = likelihood, data, held_out
        self.seed, self.show = seed, show
        self.rim = Rim.of(data.pairs.start)

    def begin(self) -> Leg:
        """The linear start, and whether the data call for more."""
        scheme = None
        if self.likelihood is None:
            choice = self._chosen(self.plain)
            scheme = (choice.likelihood.steps, choice.likelihood.order)
        likelihood = self._likelihood(scheme)
        everything = Coefficients.of(self.built)
        some = self.data.some(MANY, np.random.default_rng([self.seed, 0]))
        possible = tuple(sorted(set(everything.component[everything.penalised].tolist())))
        tests = ()
        if possible:
            tests = networks_called_for(
                everything, likelihood, some, ~everything.penalised, possible, seed=self.seed
            )
        called = [test.component for test in tests if test.called_for]
        # A drift that V alone does not bend enough makes W and sigma look needed as well: V comes first.
        on = (COMPONENTS[possible[0]],) if called else ()
        weights = Coefficients.of(self.model(on))
        first = self._record((), weights, weights.vector, likelihood, 0)
        return Leg("start", on, weights.vector, np.ones(weights.groups), scheme, tests, (first,))

    def advance(self, leg: Leg) -> tuple[Leg, Solution | None]:
        """The next leg; the last one, `all`, comes with its solution.

        V, W and sigma enter the drift as products. The way in is to fit V and W to the increments with the
        noise given, which is nearly a linear problem. What the data still call for is added, the most
        wanted first, and only then everything moves together under the finer likelihood.
        """
        if leg.name == "start" and leg.on:
            return self._climbed(leg, "drift", MANY, 12, 2.0)
        if leg.name == "drift":
            grown = self._grown(leg)
            if grown.on != leg.on:
                return self._climbed(grown, "drift", MANY, 12, 2.0)
            return self._climbed(grown, "few", FEW, 8, 2.0)
        if leg.name == "few":
            grown = self._grown(leg)
            if grown.on != leg.on:
                return self._climbed(grown, "few", FEW, 8, 2.0)
            return self._finished(grown)
        return self._finished(leg)

    def found(self, leg: Leg, solution: Solution) -> Found:
        """The result of the last leg."""
        weights = Coefficients.of(self.model(leg.on))
        dynamics = weights.dynamics(solution.vector)
        likelihood, lost, result = self.likelihood_of(leg), 0.0, Result()
        if leg.scheme is not None:
            choice = self._chosen(dynamics, at_least=likelihood)
            lost, result = choice.lost, choice.result
        if solution.expected_gain > 4 * ENOUGH:
            words = f"The search stopped {solution.expected_gain:.2g} nats below where the data point."
            result = Result("still_improving", words)
        return Found(
            dynamics=dynamics,
            architecture=self.specification(leg),
            weights=weights,
            solution=solution,
            likelihood=likelihood,
            lost=lost,
            result=result,
        )

    def unstarted(self) -> Leg:
        """The linear start, nothing known."""
        weights = Coefficients.of(self.plain)
        scheme = None if self.likelihood is not None else (1, 4)
        record = EpochRecord(0, 0, float("nan"), float("nan"))
        return Leg("start", (), weights.vector, np.ones(weights.groups), scheme, (), (record,))

    def dynamics_of(self, leg: Leg) -> ComponentDynamics:
        """The model at the end of a leg."""
        return Coefficients.of(self.model(leg.on)).dynamics(leg.vector)

    def specification(self, leg: Leg) -> Architecture:
        """The architecture with the networks that are in the model."""
        return replace(self.architecture.plain, **{name: getattr(self.architecture, name) for name in leg.on})

    def likelihood_of(self, leg: Leg) -> AbstractLikelihood:
        """The transition density that a leg used."""
        return self._likelihood(leg.scheme)

    def model(self, on: tuple[str, ...]) -> ComponentDynamics:
        """The plain model with the named networks put in, as they were drawn."""
        places = [f"{name}_component" for name in COMPONENTS if name in on]
        if not places:
            return self.plain
        built, plain = self.bent  # at the noise that is left when the drift may bend
        return eqx.tree_at(
            lambda d: [getattr(d, place) for place in places],
            plain,
            [getattr(built, place) for place in places],
        )

    def _climbed(self, leg: Leg, name: str, size: int, most_steps: int, enough: float):
        """Gauss-Newton on a random part of the data."""
        present, scheme = self.dynamics_of(leg), leg.scheme
        if scheme is not None and name not in ("drift", "few"):
            choice = self._chosen(present, at_least=self._likelihood(scheme))
            scheme = (choice.likelihood.steps, choice.likelihood.order)
        likelihood = EulerMaruyama() if name == "drift" else self._likelihood(scheme)
        # A constant noise is known from the residuals of a free regression; one that varies moves along.
        held = ("diffusion",) if name == "drift" and "diffusion" not in leg.on else ()
        weights = Coefficients.of(present, held=held)
        data = self.data.some(size, np.random.default_rng([self.seed, len(name)]))
        rim = self.rim if "potential" in leg.on else Rim.none(data.pairs.start.shape[1])
        solution = climb(
            weights,
            carried_over(weights, leg.precision),
            likelihood,
            data,
            rim,
            most_steps=most_steps,
            enough=enough,
            seed=self.seed,
        )
        history = (*leg.history, self._record(leg.history, weights, solution.vector, likelihood, len(data)))
        vector = Coefficients.of(weights.dynamics(solution.vector)).vector
        done = Leg(name, leg.on, vector, solution.precision, scheme, leg.tests, history)
        return done, solution if name == "all" else None

    def _finished(self, leg: Leg):
        # From a solution that a part of the data found, one step over all of them is as good as many;
        # where it is cheap, a second one makes sure.
        return self._climbed(leg, "all", len(self.data), 2 if len(leg.on) < 2 else 1, ENOUGH)

    def _grown(self, leg: Leg) -> Leg:
        """Test the networks that are still missing, and put in the one that is called for most."""
        present = self.dynamics_of(leg)
        everything = Coefficients.of(self._continued(present, COMPONENTS))
        own = everything.component
        off = [k for k, name in enumerate(COMPONENTS) if name not in leg.on]
        possible = tuple(k for k in off if (everything.penalised & (own == k)).any())
        if not possible:
            return leg
        nuisance = ~everything.penalised | ~np.isin(own, possible)
        some = self.data.some(FEW, np.random.default_rng([self.seed, 1]))
        choice = None if leg.scheme is None else self._chosen(present)
        likelihood = self._likelihood(None) if choice is None else choice.likelihood
        tests = networks_called_for(everything, likelihood, some, nuisance, possible, seed=self.seed)
        most = max(tests, key=lambda test: test.excess)
        if leg.name == "drift" and len(tests) == 1 and most.component=="diffusion":
            return leg
        on = tuple(
            name for name in COMPONENTS if name in leg.on or (name == most.component and most.called_for)
        )
        grown = Coefficients.of(self._continued(present, on))
        precision = np.ones(grown.groups)
        places = np.isin(grown.group_owner, [COMPONENTS.index(name) for name in leg.on])
        precision[places] = leg.precision
        tests = (*(test for test in leg.tests if test.component in leg.on), *tests)
        scheme = leg.scheme if choice is None else (choice.likelihood.steps, choice.likelihood.order)
        return replace(leg, on=on, vector=grown.vector, precision=precision, scheme=scheme, tests=tests)

    def _continued(self, present: ComponentDynamics, on: tuple[str, ...]) -> ComponentDynamics:
        """The networks put in where `present` has constants, starting at those."""
        zero = jnp.zeros(self.data.pairs.start.shape[1])
        sigma = (
            self.built.diffusion_component.starting_at(present.diffusion_component(zero))
            if "diffusion" in on and isinstance(present.diffusion_component, ConstantDiffusion)
            else present.diffusion_component
        )
        W = (
            self.built.circulation_component.starting_at(present.circulation_component(zero))
            if "circulation" in on and isinstance(present.circulation_component, ConstantCirculation)
            else present.circulation_component
        )
        return eqx.tree_at(lambda d: (d.diffusion_component, d.circulation_component), present, (sigma, W))

    def _likelihood(self, scheme: tuple[int, int] | None) -> AbstractLikelihood:
        if scheme is None:
            assert self.likelihood is not None
            return self.likelihood
        return Cubature(*scheme)

    def _chosen(self, dynamics: ComponentDynamics, *, at_least=None) -> StepChoice:
        pairs = self.data.pairs
        return choose_steps(
            dynamics, pairs.start, pairs.dt, len(self.data), at_least=at_least, at_most=FINEST
        )

    def _record(self, history, weights, vector, likelihood, seen) -> EpochRecord:
        """Losses in nats a pair; the held-out data only watch."""
        losses = [
            -float(log_densities(weights, vector, likelihood, part).mean())
            for part in (self.data.some(MANY // 4, np.random.default_rng([self.seed, 2])), self.held_out)
        ]
        steps = history[-1].step if history else 0
        record = EpochRecord(len(history), steps + seen, *losses)
        self.show(record)
        return record
