"""From trajectories to a model."""

import os
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

from .._checks import fail
from .._types import Result
from ..data import Scaling, Trajectories, Transitions
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood, EulerMaruyama, choose_steps
from ..models import Architecture, Coefficients, Ensemble, Model
from ..models.architecture import Circulation
from .candidates import Candidates
from .checkpoint import CheckpointFile, fingerprint
from .ensemble import draw_ensemble
from .gauss_newton import Solution, known
from .hidden_layers import train_hidden_layers
from .history import EpochRecord, best_epoch, is_better
from .leg import Leg
from .linear_start import LinearModel, fit_linear, start_from_linear
from .loop import DevicePairs, Trainer
from .plan import Plan
from .progress import TrainingProgress
from .rim import Rim
from .scores import Sample, mean_loss
from .search import Search
from .selection import NetworkTest
from .telling_coordinates import has_frame, in_frame, telling_coordinates

MOST_HELD_OUT_PAIRS = 50_000
MOST_BLOCKS, FEWEST_BLOCKS = 200, 50
ANCHORS = 64


@dataclass(frozen=True)
class Fit:
    """A trained model and how it came about.

    Attributes:
        model: In the user's coordinates and time unit: the one to plot.
        ensemble: The model and what else the data could have given.
        history: One record an epoch (or a leg of the search); the first is the linear start.
        result: `ok`, `still_improving`, `coarse`, `interrupted` or `not_finite`.
        seconds: Wall time of the training.
        test_loss: -(mean log-density) of transitions that took no part in training, in nats a pair and
            in the units inside (unit-size coordinates), comparable between fits of the same data.
        start: How the linear start went.
        kept: The record that `model` belongs to. Epoch 0, the linear start, stays where the data do not
            call for more: what data do not call for is noise.
        refined: The model with the best trained weights, whether they were kept or not.
        likelihood: The transition density, with the number of steps that was chosen.
        tests: Whether the data called for the network of each component.
        test: The trajectories that took no part.
        total_time: The observed time in the training part.
    """

    model: Model
    ensemble: Ensemble
    history: tuple[EpochRecord, ...]
    result: Result
    seconds: float
    test_loss: float
    start: Result
    kept: EpochRecord
    refined: Model
    likelihood: AbstractLikelihood
    tests: tuple[NetworkTest, ...]
    test: Trajectories
    total_time: float

    @property
    def models(self) -> tuple[Model, ...]:
        """The members of the ensemble."""
        return self.ensemble.models

    def __repr__(self) -> str:
        epochs = f"{self.history[-1].epoch} epochs, kept {self.kept.epoch}"
        return f"Fit({self.result}; {epochs}; {self.likelihood}; {self.seconds:.0f} s)"


def fit(
    data: Trajectories,
    *,
    seed: int = 0,
    architecture: Architecture | str = "default",
    circulation: Circulation | None = None,
    likelihood: AbstractLikelihood | None = None,
    plan: Plan | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit:
    """Learn V, sigma and W from trajectories by maximum likelihood, with an ensemble around them.

    The data are split by trajectory into a training and a test part, and scaled to unit size. The best
    linear model is found in closed form. Score tests say which components need a network; those are
    fitted by Gauss-Newton steps, each with a prior that the data choose (see `Search`). Architectures
    whose hidden layers have to be trained, such as the paper's, are trained by Adam instead.

    Args:
        data: The trajectories.
        seed: Of the split, the subsets and the ensemble. The same seed gives the same model.
        architecture: The networks; `default` or one of the paper's `linear`, `polymer`, `sgld`.
        circulation: Replaces the architecture's W.
        likelihood: The transition density; by default `Cubature`, with as many steps as the data can tell.
        plan: Steps, batch and learning rate of Adam, where hidden layers are trained.
        checkpoint: A file that is kept up to date during training.
        resume: Go on from that file. The end is bit for bit that of an unbroken run.
        progress: Show a progress bar where there is a terminal.
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Use uidd.Trajectories.from_arrays(x, dt=...).")
    if not isinstance(architecture, Architecture | str):
        fail("architecture", "an Architecture or its name", repr(architecture))
    if plan is not None and not isinstance(plan, Plan):
        fail("plan", "a Plan", repr(plan), "Use uidd.Plan(steps=...).")
    if likelihood is not None and not isinstance(likelihood, AbstractLikelihood):
        fail("likelihood", "a likelihood", repr(likelihood), "Use uidd.Cubature() or uidd.EulerMaruyama().")
    if resume and checkpoint is None:
        fail("checkpoint", "given with `resume`", "none", "Name the file to go on from.")
    architecture = Architecture.named(architecture) if isinstance(architecture, str) else architecture
    if circulation is not None:
        architecture = replace(architecture, circulation=circulation)
    file = None
    if checkpoint is not None:
        settings = (seed, architecture, repr(likelihood), plan)
        file = CheckpointFile(Path(checkpoint), fingerprint(data.transitions(), *settings))
    task = _Task(data, seed, architecture, likelihood, plan, file, resume, progress)
    return task.by_adam() if architecture.trains_hidden_layers else task.by_search()


class _Task:
    """What both ways of training share: split, scaling, start, and the making of the record."""

    def __init__(self, data, seed, architecture, likelihood, plan, file, resume, progress):
        self.begun = time.monotonic()
        self.data, self.seed, self.architecture = data, seed, architecture
        self.plan = Plan() if plan is None else plan
        self.file, self.resume, self.progress = file, resume, progress
        train, validation, self.test = data.split(seed=seed)
        self.validation = validation
        self.train = train if architecture.trains_hidden_layers else _joined(train, validation)
        self.scaling = Scaling.of(train)
        self.pairs = self.scaling.transitions_to_unit(self.train.transitions())
        self.build_key, self.start_key, self.epoch_key = jax.random.split(jax.random.key(seed), 3)
        self.linear: LinearModel = fit_linear(self.pairs, euler=isinstance(likelihood, EulerMaruyama))
        self.likelihood = likelihood

    def started(self, architecture: Architecture, linear: LinearModel) -> ComponentDynamics:
        """Networks that reproduce a linear model."""
        built = architecture.build(self.data.dimension, key=self.build_key)
        started = start_from_linear(built, linear, key=self.start_key)
        return in_frame(started, self.frame) if has_frame(started) else started

    @cached_property
    def frame(self) -> np.ndarray:
        """The coordinates that V's powers are taken of, where it has powers of single ones alone."""
        return telling_coordinates(self.pairs.start)

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
        leg, solution, stopped = None, None, None
        with TrainingProgress(5, shown=self.progress) as bar:
            search = Search(candidates, self.likelihood, sample, test, seed=self.seed, show=bar.show)
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
            weights, likelihood, result = Coefficients.of(dynamics), search.likelihood_of(leg), stopped
            model = self.model(dynamics, specification)
            ensemble = Ensemble.none(model)
        else:
            found = search.found(leg, solution)
            likelihood, result, weights = found.likelihood, found.result, found.weights
            model = self.model(found.dynamics, found.architecture)
            ensemble = draw_ensemble(model, weights, found.solution, seed=self.seed)
        own = Coefficients.of(model.unit)
        return self._record(
            ensemble, leg.history, result, leg.history[-1], model, likelihood, leg.tests,
            mean_loss(own, own.vector, likelihood, test),
        )  # fmt: skip

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
        if result.code in ("interrupted", "not_finite"):
            ensemble = Ensemble.none(model)
        else:
            solution: Solution = known(
                own, likelihood, self.sample(), Rim.of(self.pairs.start), seed=self.seed
            )
            ensemble = draw_ensemble(model, own, solution, seed=self.seed)
        kept = best_epoch(history[1:]) if left else history[0]
        test = mean_loss(own, own.vector, likelihood, self.held_out(self.test))
        return self._record(ensemble, tuple(history), result, kept, refined, likelihood, (), test)

    def _record(self, ensemble, history, result, kept, refined, likelihood, tests, test_loss) -> Fit:
        return Fit(
            model=ensemble.center,
            ensemble=replace(ensemble, result=result),
            history=history,
            result=result,
            seconds=time.monotonic() - self.begun,
            test_loss=test_loss,
            start=self.linear.result,
            kept=kept,
            refined=refined,
            likelihood=likelihood,
            tests=tests,
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
