"""Which models are compared, on which systems, and how much of everything."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...baselines import GFINN, Onsager, OnsagerNet, StatPINNs, StochasticOnsagerNet
from ...data import Trajectories
from ...models import Architecture
from ...systems import DoubleWell, DrivenWells, Linear
from ...systems.driven_wells import stationary_states
from ...training import Plan, Trainable

MODELS: dict[str, Architecture | Trainable] = {
    "ours": Architecture(),
    "Stat-PINNs": StatPINNs(),
    "Onsager": Onsager(),
    "OnsagerNet": OnsagerNet(),
    "S-OnsagerNet": StochasticOnsagerNet(),
    "GFINN": GFINN(),
}
WITH_A_DENSITY = ("ours", "Stat-PINNs")


@dataclass(frozen=True)
class Case:
    """A system, how its data are made, and where models are compared.

    Attributes:
        name: As in the table.
        system: With its truth.
        simulate: From paths and frames to data; the seed is the same for all fits.
        draw: From a generator and a number to stationary states, for comparisons.
        driven: Whether it is out of equilibrium.
        wells: Whether there are two, and a barrier between them.
    """

    name: str
    system: Any
    simulate: Callable[[int, int], Trajectories]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    driven: bool = True
    wells: bool = False


def _linear(name: str, strength: float) -> Case:
    system = Linear(strength)
    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, scheme="exact", seed=0),
        lambda generator, count: generator.multivariate_normal(np.zeros(2), system.covariance, count),
        strength != 0,
    )


def _double_well(name: str, circulation: float) -> Case:
    system = DoubleWell(circulation)

    def draw(generator: np.random.Generator, count: int) -> np.ndarray:
        ends = system.simulate(count, 200, 0.02, seed=1).states
        return np.stack([path[-1] for path in ends])

    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, 0.02, seed=0),
        draw,
        circulation != 0,
        wells=True,
    )


def _driven_wells(name: str, drive: float) -> Case:
    system = DrivenWells(drive)
    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, seed=0),
        stationary_states,
        drive != 0,
        wells=True,
    )


CASES = {
    case.name: case
    for case in (
        _linear("linear", 1.0),
        _double_well("double well", 0.5),
        _driven_wells("driven wells", 0.5),
        _linear("linear at rest", 0.0),
        _double_well("double well at rest", 0.0),
        _driven_wells("wells at rest", 0.0),
    )
}


@dataclass(frozen=True)
class Size:
    """How much of everything.

    Attributes:
        linear: Paths and frames of the linear systems.
        double_well: Of the double wells.
        driven_wells: Of the wells in three dimensions.
        seeds: Fits of each model to the data of each driven system.
        plan: Of the models that are trained by Adam.
        points: States at which fits are compared.
        bins: Of the pictures, a coordinate.
        at_rest: The undriven systems, on which ours and Stat-PINNs are compared.
    """

    linear: tuple[int, int]
    double_well: tuple[int, int]
    driven_wells: tuple[int, int]
    seeds: int
    plan: Plan
    points: int
    bins: int
    at_rest: tuple[str, ...] = ()

    def data(self, case: Case) -> Trajectories:
        """Of a case."""
        kinds = {Linear: self.linear, DoubleWell: self.double_well, DrivenWells: self.driven_wells}
        return case.simulate(*kinds[type(case.system)])

    def trials(self) -> Iterator[tuple[str, str, int]]:
        """Case, model and seed of all fits. At rest only the two models with a density are compared."""
        for case in CASES.values():
            if not case.driven and case.name not in self.at_rest:
                continue
            for model in MODELS if case.driven else WITH_A_DENSITY:
                for seed in range(self.seeds if case.driven else 1):
                    yield case.name, model, seed


SIZES = {
    "quick": Size(
        linear=(400, 101),
        double_well=(60, 400),
        driven_wells=(60, 300),
        seeds=2,
        plan=Plan(steps=300, batch=512, learning_rate=1e-2, steps_per_epoch=100),
        points=200,
        bins=24,
        at_rest=("linear at rest",),
    ),
    "paper": Size(
        linear=(10_000, 101),
        double_well=(400, 1000),
        driven_wells=(400, 1000),
        seeds=4,
        plan=Plan(steps=12_000, batch=4096, learning_rate=5e-3, steps_per_epoch=400),
        points=400,
        bins=40,
        at_rest=("linear at rest", "double well at rest", "wells at rest"),
    ),
}
