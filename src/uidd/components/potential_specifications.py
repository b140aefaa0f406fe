"""Which V to build."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._checks import positive, whole_number
from .bumps import Bumps
from .mixture import Mixture
from .network import Network
from .polynomial import Polynomial
from .potential import AbstractPotential, NonlinearPart, QuadraticPotential, SumOfSquaresPotential
from .specification import AbstractSpecification, check_layers, check_units


class PotentialSpecification(AbstractSpecification):
    """Of V."""

    @property
    @abc.abstractmethod
    def plain(self) -> "Quadratic":
        """A quadratic."""

    @abc.abstractmethod
    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractPotential:
        """A V of `dimension` coordinates."""


@dataclass(frozen=True)
class Quadratic(PotentialSpecification):
    """Specification of `QuadraticPotential`: a network of `width` units at `scales`, bumps and wells.

    With a width of 0 the quadratic alone is left.
    """

    width: int = 64
    scales: tuple[float, ...] = (1.0,)
    least: float = 1e-3
    bumps: int = 192
    bump_scale: float = 3.0
    wells: int = 8
    trains_hidden_layers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_units(self.width, self.scales, least=0)
        whole_number("bumps", self.bumps)
        positive("bump_scale", self.bump_scale)
        whole_number("wells", self.wells)

    @property
    def plain(self) -> "Quadratic":
        """The quadratic alone."""
        return Quadratic(0, (), self.least)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> QuadraticPotential:
        """The unit matrix, and units whose readout is zero."""
        S, c = jnp.eye(dimension), jnp.zeros(dimension)
        if not self.width:
            return QuadraticPotential(S, c, None, self.least)
        network = Network.drawn(dimension, 1, self.width, self.scales, dense=True)
        bumps = Bumps.drawn(dimension, self.bumps, self.bump_scale)
        wells = Mixture.absent(dimension, self.wells)
        nonlinear = NonlinearPart(Polynomial.zero(dimension), network, bumps, wells)
        return QuadraticPotential(S, c, nonlinear, self.least)


@dataclass(frozen=True)
class SumOfSquares(PotentialSpecification):
    """Specification of `SumOfSquaresPotential`; defaults are the paper's for SGLD."""

    components: int = 32
    widths: tuple[int, ...] = (128,)
    activation: str = "tanh"
    b1: float = 1.0
    b2: float = 1.0
    b3: float = 1e-3
    trains_hidden_layers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_layers(self.widths, self.activation)

    @property
    def plain(self) -> Quadratic:
        """The quadratic that is left without U."""
        return Quadratic(0, (), 2 * self.b3)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> SumOfSquaresPotential:
        """Random weights for a state of `dimension` coordinates."""
        network_key, slope_key = jax.random.split(key)
        count = max(self.components, dimension)
        return SumOfSquaresPotential(
            network=Network.random(dimension, count, self.widths, self.activation, key=network_key),
            slopes=jax.random.normal(slope_key, (count, dimension)) / count**0.5,
            b1=self.b1,
            b2=self.b2,
            b3=self.b3,
        )
