"""What a transition density is."""

import abc

import equinox as eqx

from .._types import Scalar, State
from ..dynamics import AbstractDynamics


class AbstractLikelihood(eqx.Module):
    """An approximation of log p(Z_{t+dt} | Z_t) under given dynamics."""

    @abc.abstractmethod
    def log_density(self, dynamics: AbstractDynamics, start: State, increment: State, dt: Scalar) -> Scalar:
        """log p(start + increment at t + dt | start at t), one transition."""
