"""What to build in any dimension: frozen, of plain numbers and words, so that it can be stored."""

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

from jaxtyping import PRNGKeyArray

from .._checks import fail, one_of, positive, whole_number
from .activations import ACTIVATIONS


class AbstractSpecification(abc.ABC):
    """Of one component.

    Attributes:
        trains_hidden_layers: Whether hidden layers have to be trained; those of others are drawn once.
    """

    trains_hidden_layers: ClassVar[bool]

    @property
    @abc.abstractmethod
    def plain(self) -> Any:
        """Without networks: for a linear drift or constant noise."""

    @abc.abstractmethod
    def build(self, dimension: int, *, key: PRNGKeyArray) -> Any:
        """A component of a state of `dimension` coordinates."""


def check_layers(widths: Sequence[int], activation: str) -> None:
    """Hidden layers of a network that is trained."""
    one_of("activation", activation, ACTIVATIONS)
    for width in widths:
        whole_number("widths", width)


def check_units(width: int, scales: Sequence[float], *, least: int = 1) -> None:
    """Units of a network that is drawn."""
    if whole_number("width", width, least=least) and not scales:
        fail("scales", "at least one number", "none")
    for scale in scales:
        positive("scales", scale)
