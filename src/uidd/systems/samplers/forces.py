"""The forces of a datum that need a name: by it the fused kernel knows what it may replace."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import State

if TYPE_CHECKING:
    from .sampler import Sampler


class Negative(eqx.Module):
    """-g."""

    gradient: Callable[..., State]

    def __call__(self, *where: Any) -> State:
        """At a state, and a datum."""
        return -self.gradient(*where)


def residual_gradient(z: State, datum: Any) -> State:
    """(a . z - v) a, the gradient of (a . z - v)^2 / 2 for a datum (a, v)."""
    a, v = datum
    return (jnp.dot(a, z) - v) * a


def is_least_squares(sampler: "Sampler") -> bool:
    """Whether all that a sampler follows is -scale * mean of (a . z - v) a and a noise that is constant."""
    match sampler.force, sampler.data:
        case Negative(gradient=gradient), (A, v) if gradient is residual_gradient:
            constant = sampler.common is None and not callable(sampler.noise)
            return constant and A.ndim == 2 and v.shape == A.shape[:1]
    return False
