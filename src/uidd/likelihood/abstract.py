"""What a transition density is."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._types import Scalar, State
from ..dynamics import AbstractEquation


class AbstractLikelihood(eqx.Module):
    """An approximation of log p(Z_{t+dt} | Z_t) under given dynamics."""

    @abc.abstractmethod
    def log_density(self, dynamics: AbstractEquation, start: State, increment: State, dt: Scalar) -> Scalar:
        """log p(start + increment at t + dt | start at t), one transition."""

    def draw(self, dynamics: AbstractEquation, start: State, dt: Scalar, *, key: PRNGKeyArray) -> State:
        """A random increment; an Euler-Maruyama step unless a likelihood has something better.

        Training averages over such draws how well the data could know each weight.
        """
        drift, sigma = dynamics.drift_and_diffusion(start)
        return drift * dt + jnp.sqrt(dt) * sigma @ jax.random.normal(key, start.shape)
