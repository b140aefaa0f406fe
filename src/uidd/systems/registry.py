"""Every system of the package by name."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from .._checks import one_of
from ..data import Trajectories
from ..dynamics import AbstractDynamics
from .beads import Beads
from .double_well import DoubleWell
from .driven_wells import DrivenWells
from .gyrator import Gyrator
from .linear import Linear
from .metastable import Metastable
from .muller_brown import MullerBrown
from .trap import Trap
from .varying_noise import VaryingNoise


class System(Protocol):
    """What a system offers: its equations, its truth, its data."""

    @property
    def dynamics(self) -> AbstractDynamics:
        """V, sigma and W."""
        ...

    @property
    def entropy_production_rate(self) -> float:
        """The exact rate, in k_B per unit time."""
        ...

    def simulate(
        self, paths: int = ..., frames: int = ..., dt: float = ..., *, seed: int = ...
    ) -> Trajectories:
        """Recorded paths."""
        ...


SYSTEMS: dict[str, Callable[..., System]] = {
    "linear": Linear,
    "beads-2": Beads,
    "beads-5": partial(Beads, count=5),
    "trap": Trap,
    "double-well": DoubleWell,
    "driven-wells": DrivenWells,
    "metastable": Metastable,
    "muller-brown": MullerBrown,
    "gyrator": Gyrator,
    "varying-noise": VaryingNoise,
}


def system(name: str, **parameters: float) -> System:
    """The system called `name`, with its parameters.

    >>> system("linear", strength=0.5).entropy_production_rate.__round__(3)
    11.765
    """
    return SYSTEMS[one_of("system", name, SYSTEMS)](**parameters)
