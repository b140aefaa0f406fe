"""The forces of a datum that need a name: by it the fused kernel knows what it may replace."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import State


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
