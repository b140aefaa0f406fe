"""Every system of the package by name."""

from collections.abc import Callable
from typing import Protocol

from .._checks import one_of
from ..data import Trajectories
from ..dynamics import AbstractDynamics
from .linear import Linear


class System(Protocol):
    """What a system offers: its equations, its truth, its data."""

    @property
    def dynamics(self) -> AbstractDynamics:
        """V, sigma and W in closed form."""
        ...

    @property
    def entropy_production_rate(self) -> float:
        """The exact rate."""
        ...

    def simulate(
        self, paths: int = ..., frames: int = ..., dt: float = ..., *, seed: int = ...
    ) -> Trajectories:
        """Recorded paths."""
        ...


SYSTEMS: dict[str, Callable[..., System]] = {"linear": Linear}


def system(name: str, **parameters: float) -> System:
    """The system called `name`, with its parameters.

    >>> system("linear", strength=0.5).entropy_production_rate.__round__(3)
    11.765
    """
    return SYSTEMS[one_of("system", name, SYSTEMS)](**parameters)
