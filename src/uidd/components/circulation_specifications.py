"""Which W to build."""

import abc
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._checks import one_of
from .circulation import (
    AbstractCirculation,
    ConstantCirculation,
    CurrentCirculation,
    FieldCirculation,
    NoCirculation,
    PlaneCirculation,
)
from .network import Network
from .potential_specifications import Quadratic
from .specification import AbstractSpecification, check_layers, check_units

# Of fields in planes, whose number and that of their units multiply.
MOST_READOUTS = 768
# Dimensions in which W has fields of a current beside its own, and the scales of their units.
MOST_WITH_CURRENTS, CURRENT_SCALES = 4, (1.0, 2.0)


class CirculationSpecification(AbstractSpecification):
    """Of W."""

    @property
    @abc.abstractmethod
    def plain(self) -> "Uniform | Absent":
        """The same W everywhere, or none."""

    @abc.abstractmethod
    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """A W of `dimension` coordinates."""


@dataclass(frozen=True)
class Tridiagonal(CirculationSpecification):
    """Specification of the paper's W: D - 1 fields on the first off-diagonal.

    Universal, but an axial gauge for D >= 3: some currents need fields that grow like e^V. `Full`
    represents the same drifts with tame fields.
    """

    widths: tuple[int, ...] = (128, 128)
    activation: str = "tanh"
    trains_hidden_layers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_layers(self.widths, self.activation)

    def pairs(self, dimension: int) -> tuple[tuple[int, int], ...]:
        """(0, 1), (1, 2), ..."""
        return tuple((d, d + 1) for d in range(dimension - 1))

    @property
    def plain(self) -> "Uniform":
        """Without its networks."""
        return Uniform("tridiagonal")

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """Random weights; no circulation in one dimension."""
        return _fields(self, dimension, key)


@dataclass(frozen=True)
class Full(CirculationSpecification):
    """Specification of a W with all D (D - 1) / 2 fields. V, f_rev and f_irr stay unique, W does not."""

    widths: tuple[int, ...] = (128, 128)
    activation: str = "tanh"
    trains_hidden_layers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_layers(self.widths, self.activation)

    def pairs(self, dimension: int) -> tuple[tuple[int, int], ...]:
        """Every a < b."""
        return _all_pairs(dimension)

    @property
    def plain(self) -> "Uniform":
        """Without its networks."""
        return Uniform("full")

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """Random weights; no circulation in one dimension."""
        return _fields(self, dimension, key)


@dataclass(frozen=True)
class Drawn(CirculationSpecification):
    """Specification of a W of drawn units: all fields (as `Full`) up to five dimensions, `PlaneCirculation`
    with D planes above, and fewer units beyond twelve: what the data have to determine stays within bounds.
    """

    width: int = 64
    scales: tuple[float, ...] = (0.3, 1.0)
    trains_hidden_layers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_units(self.width, self.scales)

    @property
    def plain(self) -> "Uniform":
        """Without its networks."""
        return Uniform("full")

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """Drawn units with a zero readout; no circulation in one dimension."""
        pairs = _all_pairs(dimension)
        if not pairs:
            return NoCirculation()
        if dimension <= MOST_WITH_CURRENTS:
            network = Network.drawn(dimension, len(pairs), self.width, self.scales)
            finer = Network.drawn(dimension, len(pairs), self.width, CURRENT_SCALES, dense=True)
            reference = Quadratic().build(dimension, key=key)
            fields, currents = FieldCirculation(network, pairs), FieldCirculation(finer, pairs)
            return CurrentCirculation(fields, currents, reference, jnp.zeros(1))
        if dimension <= 5:
            network = Network.drawn(dimension, len(pairs), self.width, self.scales)
            return FieldCirculation(network, pairs)
        _, plane_key = jax.random.split(key)
        planes = jax.random.normal(plane_key, (2, dimension, dimension)) / dimension**0.5
        width = max(1, min(self.width, MOST_READOUTS // dimension))
        network = Network.drawn(dimension, dimension, width, self.scales)
        return PlaneCirculation(ConstantCirculation(jnp.zeros(len(pairs)), pairs), network, planes)


@dataclass(frozen=True)
class Uniform(CirculationSpecification):
    """Specification of a constant W: `full`, or the paper's `tridiagonal` pairs."""

    shape: Literal["full", "tridiagonal"] = "full"
    trains_hidden_layers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("shape", self.shape, ("full", "tridiagonal"))

    @property
    def plain(self) -> "Uniform":
        """Itself."""
        return self

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """Zero; nothing is random here."""
        pairs = Full().pairs(dimension) if self.shape == "full" else Tridiagonal().pairs(dimension)
        return ConstantCirculation(jnp.zeros(len(pairs)), pairs) if pairs else NoCirculation()


@dataclass(frozen=True)
class Absent(CirculationSpecification):
    """Specification of W = 0: a model in detailed balance."""

    trains_hidden_layers: ClassVar[bool] = False

    @property
    def plain(self) -> "Absent":
        """Itself."""
        return self

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractCirculation:
        """Nothing to draw."""
        return NoCirculation()


def _fields(spec: Tridiagonal | Full, dimension: int, key: PRNGKeyArray) -> AbstractCirculation:
    pairs = spec.pairs(dimension)
    if not pairs:
        return NoCirculation()
    return FieldCirculation(
        Network.random(dimension, len(pairs), spec.widths, spec.activation, key=key), pairs
    )


def _all_pairs(dimension: int) -> tuple[tuple[int, int], ...]:
    return tuple((a, b) for a in range(dimension) for b in range(a + 1, dimension))
