"""One fit: split, scaling, start, one of three ways of training, the record."""

import time
from dataclasses import replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._types import Result
from ..components import Absent, QuadraticPotential
from ..data import Scaling, Trajectories, Transitions
from ..dynamics import AbstractEquation, ComponentDynamics
from ..likelihood import AbstractGaussian, EulerMaruyama, MeanIncrement, choose_steps
from ..models import Architecture, Coefficients, Ensemble, Model
from .candidates import Candidates
from .checks import checked
from .density import density_misfit
from .ensemble import draw_ensemble, overlooked_nats, unseen_rate
from .gauss_newton import LOOKED_AT, Solution, known
from .gaussians_of_states import gaussians_of
from .hidden_layers import train_hidden_layers
from .history import best_epoch, is_better
from .leg import Leg
from .linear_start import LinearModel, fit_linear, start_from_linear
from .loop import DevicePairs, Trainer
from .missed import missed_rate
from .plan import Plan
from .progress import TrainingProgress
from .records import Fit, Trained
from .rim import Rim
from .sample import Sample
from .scores import loss_of, mean_loss
from .search import Search
from .stationarity import is_stationary, recorded_states
from .telling_coordinates import has_frame, in_frame, laid_out, telling_coordinates
from .trainable import Trainable
from .verdicts import Checks, line

MOST_HELD_OUT_PAIRS = 50_000
MOST_BLOCKS, FEWEST_BLOCKS = 200, 50
ANCHORS = 64


class Task:
    """What the ways of training share: split, scaling, start, and the making of the record."""

    def __init__(self, data, seed, architecture, likelihood, plan, file, resume, progress):
        self.begun = time.monotonic()
        self.data, self.seed, self.architecture = data, seed, architecture
        self.plan = Plan() if plan is None else plan
        self.file, self.resume, self.progress = file, resume, progress
        train, validation, self.test = data.split(seed=seed)
        self.validation = validation
        trains_all = isinstance(architecture, Trainable) or architecture.trains_hidden_layers
        self.train = train if trains_all else _joined(train, validation)
        self.scaling = Scaling.of(train)
        self.pairs = self.scaling.transitions_to_unit(self.train.transitions())
        self.build_key, self.start_key, self.epoch_key = jax.random.split(jax.random.key(seed), 3)
        self.linear: LinearModel = fit_linear(self.pairs, euler=isinstance(likelihood, EulerMaruyama))
        self.likelihood = likelihood

    def started(self, architecture: Architecture, linear: LinearModel) -> ComponentDynamics:
        """Networks that reproduce a linear model."""
        built = architecture.build(self.data.dimension, key=self.build_key)
        started = start_from_linear(built, linear, key=self.start_key)
        V = started.potential_component
        if isinstance(V, QuadraticPotential) and V.mixture is not None:
            wells = V.with_wells(*self.wells)
            started = eqx.tree_at(lambda d: d.potential_component, started, wells)
        if not architecture.trains_hidden_layers and self.data.dimension > 1:
            started = laid_out(started, self.frame)
        return in_frame(started, self.frame) if has_frame(started) else started

    @cached_property
    def stationary(self) -> bool:
        """Whether the recording is, as far as it tells."""
        return is_stationary(self.data)

    @cached_property
    def frame(self) -> np.ndarray:
        """The coordinates that units are laid out over, and that V's powers are of where it has few."""
        return telling_coordinates(self.pairs.start)

    @cached_property
    def wells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaussians where the states are."""
        potential = self.architecture.potential
        return gaussians_of(self.pairs.start, getattr(potential, "wells", 1))

    def sample(self) -> Sample:
        """The training pairs with the blocks that the bootstrap draws."""
        lengths = [len(states) - 1 for states in self.train.states]
        origins = np.unique(self.train.origins, return_inverse=True)[1]
        if origins.max() + 1 >= FEWEST_BLOCKS:
            count = min(MOST_BLOCKS, int(origins.max()) + 1)
            block = np.repeat(origins * count // (origins.max() + 1), lengths)
        else:
            count = min(MOST_BLOCKS, len(self.pairs.dt))
            block = np.arange(len(self.pairs.dt)) * count // len(self.pairs.dt)
        return Sample(self.pairs, block, count)

    def held_out(self, part: Trajectories) -> Sample:
        """At most `MOST_HELD_OUT_PAIRS` evenly spaced pairs: enough for the fourth digit of a mean."""
        pairs = self.scaling.transitions_to_unit(part.transitions())
        stride = -(-len(pairs.dt) // MOST_HELD_OUT_PAIRS)
        thinned = Transitions(*(array[::stride] for array in pairs))
        return Sample(thinned, np.zeros(len(thinned.dt), int), 1)

    def model(self, unit: ComponentDynamics, architecture: Architecture) -> Model:
        """In the user's coordinates."""
        return Model(
            unit=unit,
            architecture=architecture,
            scaling=self.scaling,
            anchors=_anchors(self.train, self.seed),
            coordinates=self.data.coordinates,
            units=self.data.units,
            time_unit=self.data.time_unit,
        )

    def by_search(self) -> Fit:
        """Drawn networks, where the data call for them."""
        candidates = Candidates(self.architecture, self.started, self.linear, self.pairs)
        sample, test = self.sample(), self.held_out(self.test)
        leg, solution, stopped, tests = None, None, None, ()
        with TrainingProgress(5, shown=self.progress) as bar:
            search = Search(
                candidates, self.likelihood, sample, test,
                stationary=self.stationary, seed=self.seed, show=bar.show,
            )  # fmt: skip
            if self.file is not None and self.resume and self.file.path.exists():
                leg = Leg.from_container(self.file.read_raw())
            try:
                leg = search.begin() if leg is None else leg
                while solution is None:
                    if self.file is not None:
                        self.file.write_raw(*leg.to_container())
                    leg, solution = search.advance(leg)
            except KeyboardInterrupt:
                name = "before the first leg" if leg is None else f"after leg '{leg.name}'"
                stopped = Result("interrupted", f"Interrupted {name}.")
        if leg is None or solution is None:
            leg = search.unstarted() if leg is None else leg
            dynamics, specification = search.dynamics_of(leg), candidates.specification(leg.on)
            likelihood, result, tests = search.likelihood_of(leg), stopped, leg.tests
            model = self.model(dynamics, specification)
            ensemble = Ensemble.none(model)
        else:
            found = search.found(leg, solution)
            likelihood, result, weights, tests = found.likelihood, found.result, found.weights, found.tests
            model, could_bend = self.model(found.dynamics, found.architecture), None
            solution = found.solution
            if found.could_bend is not None:
                bent, known_of_it = found.could_bend
                could_bend = (self.model(bent.dynamics(bent.vector), self.architecture), bent, known_of_it)
            ensemble = draw_ensemble(
                model, weights, solution, recorded_states(self.data),
                seed=self.seed, could_bend=could_bend,
            )  # fmt: skip
            ensemble = replace(ensemble, in_place=self.stationary, observed=self.data.total_time)
        own = Coefficients.of(model.unit)
        return self._record(
            ensemble, leg.history, result, leg.history[-1], model, likelihood,
            tests, mean_loss(own, own.vector, likelihood, test), solution,
        )  # fmt: skip

    def from_random_weights(self) -> Trained:
        """A model other than ours, all weights by Adam from wherever the seed puts them."""
        dynamics = self.architecture.build(self.data.dimension, key=self.build_key)
        noise = jnp.asarray(self.linear.diffusion, jnp.result_type(float))
        likelihood = self.architecture.likelihood(noise) if self.likelihood is None else self.likelihood
        if not isinstance(dynamics, AbstractEquation) and not isinstance(likelihood, MeanIncrement):
            name = type(self.architecture).__name__
            fail("likelihood", f"left out, or a MeanIncrement: {name} has no noise", repr(likelihood))
        weights, static = eqx.partition(dynamics, eqx.is_array)
        trainer = Trainer(static, likelihood, self.plan)
        trained, history, result = train_hidden_layers(
            trainer, trainer.begin(weights), DevicePairs.of(self.pairs),
            DevicePairs.of(self.held_out(self.validation).pairs),
            plan=self.plan, key=self.epoch_key, file=self.file, resume=self.resume, progress=self.progress,
        )  # fmt: skip
        return Trained(
            model=self.architecture.in_user_units(eqx.combine(trained, static), self.scaling),
            history=tuple(history),
            result=result,
            seconds=time.monotonic() - self.begun,
            test_loss=loss_of(trainer.log_densities(trained, DevicePairs.of(self.held_out(self.test).pairs))),
            kept=best_epoch(history[1:] or history),
            likelihood=likelihood,
            test=self.test,
            total_time=self.train.total_time,
        )

    def by_adam(self) -> Fit:
        """All weights by Adam; the linear start stays unless held-out data gain by three standard errors."""
        dynamics, plain = (
            self.started(each, self.linear) for each in (self.architecture, self.architecture.plain)
        )
        if self.likelihood is None:
            pairs = self.pairs
            likelihood = choose_steps(plain, pairs.start, pairs.dt, len(pairs.dt)).likelihood
        else:
            likelihood = self.likelihood
        weights, static = eqx.partition(dynamics, eqx.is_array)
        trainer = Trainer(static, likelihood, self.plan)
        held_out = DevicePairs.of(self.held_out(self.validation).pairs)
        trained, history, result = train_hidden_layers(
            trainer, trainer.begin(weights), DevicePairs.of(self.pairs), held_out,
            plan=self.plan, key=self.epoch_key, file=self.file, resume=self.resume, progress=self.progress,
        )  # fmt: skip
        gain = trainer.log_densities(trained, held_out) - trainer.log_densities(weights, held_out)
        left = is_better(gain)
        refined = self.model(eqx.combine(trained, static), self.architecture)
        model = refined if left else self.model(plain, self.architecture.plain)
        own = Coefficients.of(model.unit)
        solution: Solution | None = None
        if result.code in ("interrupted", "not_finite"):
            ensemble = Ensemble.none(model)
        else:
            every, rim = self.sample(), Rim.of(self.pairs.start)
            some = every.some(LOOKED_AT, np.random.default_rng(self.seed))
            solution = known(own, likelihood, some, rim, seed=self.seed, total=len(every))
            ensemble = draw_ensemble(model, own, solution, recorded_states(self.data), seed=self.seed)
            ensemble = replace(ensemble, in_place=self.stationary, observed=self.data.total_time)
        kept = best_epoch(history[1:]) if left else history[0]
        test = mean_loss(own, own.vector, likelihood, self.held_out(self.test))
        return self._record(ensemble, tuple(history), result, kept, refined, likelihood, (), test, solution)

    def _record(
        self, ensemble, history, result, kept, refined, likelihood, tests, test_loss, solution
    ) -> Fit:
        checks, overlooked = Checks(), 0.0
        if len(ensemble):
            checks = checked(ensemble.center, likelihood, self.test, self.pairs, solution)
            if ensemble.stationary and checks.lines:
                checks = checks.beside(line("density", *density_misfit(ensemble, self.data)))
        # Where nothing bends, neither drift nor noise, a current that does so alone is not looked for.
        bent = ensemble.center.architecture != self.architecture.plain
        bent = bent and not isinstance(self.architecture.circulation, Absent) and self.data.dimension > 1
        if bent:
            overlooked = unseen_rate(overlooked_nats(self.data.dimension), self.train.total_time)
        result = checks.result if result.successful else result
        missed = (0.0, 0.0)
        if bent and len(ensemble) and not ensemble.stationary and isinstance(likelihood, AbstractGaussian):
            missed = missed_rate(ensemble.center, likelihood, self.pairs, ensemble.recorded, seed=self.seed)
        return Fit(
            model=ensemble.center,
            ensemble=replace(
                ensemble,
                result=result,
                unseen=checks.unseen,
                overlooked=overlooked,
                noise_off=checks.noise_off,
                missed=missed,
            ),
            history=history,
            result=result,
            seconds=time.monotonic() - self.begun,
            test_loss=test_loss,
            start=self.linear.result,
            kept=kept,
            refined=refined,
            likelihood=likelihood,
            tests=tests,
            checks=checks,
            test=self.test,
            total_time=self.train.total_time,
        )


def _joined(a: Trajectories, b: Trajectories) -> Trajectories:
    """Both parts as one."""
    return replace(
        a, states=(*a.states, *b.states), times=(*a.times, *b.times), origins=(*a.origins, *b.origins)
    )


def _anchors(data: Trajectories, seed: int) -> tuple[tuple[float, ...], ...]:
    """States from the later halves of the paths, which are nearer to stationarity."""
    late = np.concatenate([s[len(s) // 2 :] for s in data.states])
    chosen = np.random.default_rng(seed).choice(len(late), size=min(ANCHORS, len(late)), replace=False)
    return tuple(tuple(map(float, late[i])) for i in chosen)
