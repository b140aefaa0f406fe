"""Models other than ours, as far as `fit` has to know them."""

import abc
from typing import Generic, TypeVar

from jaxtyping import PRNGKeyArray

from .._types import Matrix
from ..data import Scaling
from ..dynamics import AbstractDrift
from ..likelihood import AbstractLikelihood

M = TypeVar("M", bound=AbstractDrift)


class Trainable(abc.ABC, Generic[M]):
    """What to build, by which density to train it, and what it looks like in the user's units.

    `fit` starts such a model from random weights and trains all of them by Adam.
    """

    @abc.abstractmethod
    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractDrift:
        """Random weights for a state of `dimension` unit-size coordinates."""

    @abc.abstractmethod
    def likelihood(self, noise: Matrix) -> AbstractLikelihood:
        """The density to train by; `noise` is the sigma of the best linear model."""

    @abc.abstractmethod
    def in_user_units(self, unit: AbstractDrift, scaling: Scaling) -> M:
        """The trained model for the user."""
