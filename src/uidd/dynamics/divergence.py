"""Divergences by automatic differentiation: the plain forms, used as oracles and by closed-form systems."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from .._types import Matrix, Scalar, State


def divergence(field: Callable[[State], State], z: State) -> Scalar:
    """div f = sum_i d_i f_i."""
    return jnp.trace(jax.jacfwd(field)(jnp.asarray(z)))


def matrix_divergence(field: Callable[[State], Matrix], z: State) -> State:
    """Row divergence (div A)_i = sum_j d_j A_ij."""
    return jnp.einsum("ijj->i", jax.jacfwd(field)(jnp.asarray(z)))
