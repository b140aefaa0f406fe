"""Activation functions by name, so that a specification can be written to a file."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._checks import one_of


def shifted_requ(x: Array) -> Array:
    """max(0, x)^2 - max(0, x - 1/2)^2: quadratic at first, then linear."""
    return jnp.maximum(x, 0.0) ** 2 - jnp.maximum(x - 0.5, 0.0) ** 2


def recu(x: Array) -> Array:
    """x^3 / 3 on [0, 1], x - 2/3 above, 0 below."""
    inside = jnp.clip(x, 0.0, 1.0)
    return inside**3 / 3 + jnp.maximum(x - 1.0, 0.0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": jnp.tanh,
    "gelu": jax.nn.gelu,
    "softplus": jax.nn.softplus,
    "shifted_requ": shifted_requ,
    "recu": recu,
}


def activation(name: str) -> Callable[[Array], Array]:
    """The activation function called `name`."""
    return ACTIVATIONS[one_of("activation", name, ACTIVATIONS)]
