"""One fit's data: split, scaled, with the linear model that every way of training starts from."""

from dataclasses import dataclass, replace
from functools import cached_property

import equinox as eqx
import jax
import numpy as np

from ..components import QuadraticPotential
from ..data import Scaling, Trajectories, Transitions
from ..dynamics import ComponentDynamics
from ..likelihood import AbstractLikelihood, EulerMaruyama
from ..models import Architecture, Model
from .checks.stationarity import is_stationary
from .regression.clusters import gaussians_of
from .regression.independent_components import has_frame, ica_frame, in_frame, laid_out
from .regression.linear import LinearModel, fit_linear, start_from_linear
from .solvers.sample import Sample
from .trainable import Trainable

# Enough for the fourth digit of a mean.
MOST_HELD_OUT_PAIRS = 50_000
# That the bootstrap draws: paths where there are so many, otherwise stretches.
MOST_BLOCKS, FEWEST_BLOCKS = 200, 50
# Recorded states that a model keeps, from which simulations start.
ANCHORS = 64


@dataclass(frozen=True)
class Problem:
    """What the ways of training share.

    Attributes:
        data: All trajectories.
        train: Those that are fitted.
        validation: Those that tell when to stop; a part of `train` where nothing has to be stopped.
        test: Those that take no part.
        scaling: To unit size.
        architecture: What is to be learned.
        likelihood: The transition density, if it was given.
        pairs: The fitted ones, in unit-size coordinates.
        linear: The best linear model.
        seed: Of everything random.
    """

    data: Trajectories
    train: Trajectories
    validation: Trajectories
    test: Trajectories
    scaling: Scaling
    architecture: Architecture | Trainable
    likelihood: AbstractLikelihood | None
    pairs: Transitions
    linear: LinearModel
    seed: int

    @classmethod
    def of(
        cls,
        data: Trajectories,
        architecture: Architecture | Trainable,
        likelihood: AbstractLikelihood | None,
        seed: int,
    ) -> "Problem":
        """Split and scale the data, and fit the linear model."""
        train, validation, test = data.split(seed=seed)
        scaling = Scaling.of(train)
        stops_early = isinstance(architecture, Trainable) or architecture.trains_hidden_layers
        train = train if stops_early else _joined(train, validation)
        pairs = scaling.transitions_to_unit(train.transitions())
        linear = fit_linear(pairs, euler=isinstance(likelihood, EulerMaruyama))
        return cls(data, train, validation, test, scaling, architecture, likelihood, pairs, linear, seed)

    @property
    def keys(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Of drawn weights, of the start, and of batches."""
        build, start, batches = jax.random.split(jax.random.key(self.seed), 3)
        return build, start, batches

    @cached_property
    def stationary(self) -> bool:
        """Whether the recording is, as far as it tells."""
        return is_stationary(self.data)

    @cached_property
    def frame(self) -> np.ndarray:
        """The coordinates that units are laid out over, and that V's powers are of where it has few."""
        return ica_frame(self.pairs.start)

    def started(self, architecture: Architecture, linear: LinearModel) -> ComponentDynamics:
        """Networks that reproduce a linear model."""
        build_key, start_key, _ = self.keys
        built = architecture.build(self.data.dimension, key=build_key)
        started = start_from_linear(built, linear, key=start_key)
        V = started.potential_component
        if isinstance(V, QuadraticPotential) and V.nonlinear is not None:
            wells = V.with_wells(*self._wells(architecture))
            started = eqx.tree_at(lambda d: d.potential_component, started, wells)
        if not architecture.trains_hidden_layers and self.data.dimension > 1:
            started = laid_out(started, self.frame)
        return in_frame(started, self.frame) if has_frame(started) else started

    def _wells(self, architecture: Architecture) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaussians where the states are."""
        return gaussians_of(self.pairs.start, getattr(architecture.potential, "wells", 1))

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
        """At most `MOST_HELD_OUT_PAIRS` evenly spaced pairs."""
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
