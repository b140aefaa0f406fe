"""The flow of a drift f(z) = C^T (tanh(A z + a), z, 1), and its derivatives, for many states."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._programs import compiled
from ..._types import State

CHUNK = 2048


def features_at(hidden, z: State) -> Float[Array, " p"]:
    """tanh(A z + a), z and 1."""
    A, a = hidden
    return jnp.concatenate([jnp.tanh(z @ A + a), z, jnp.ones(1, z.dtype)])


def shift(hidden, C: Float[Array, "p D"], z: State, dt: Array, steps: int) -> State:
    """How far z' = f(z) goes in dt, by the classical Runge-Kutta scheme."""
    h, shift = dt / steps, jnp.zeros_like(z)

    def f(shift):
        return features_at(hidden, z + shift) @ C

    for _ in range(steps):
        a = f(shift)
        b = f(shift + h / 2 * a)
        c = f(shift + h / 2 * b)
        shift = shift + h / 6 * (a + 2 * b + 2 * c + f(shift + h * c))
    return shift


@compiled
def residuals_and_drift(hidden, C, start, increment, dt, steps):
    """What the flow leaves of every increment, and f at its start."""

    def one(pair):
        z, increment, dt = pair
        return increment - shift(hidden, C, z, dt, steps), features_at(hidden, z) @ C

    return jax.lax.map(one, (start, increment, dt), batch_size=CHUNK)


@compiled
def features_of_all(hidden, start):
    """Of every state."""
    return jax.vmap(lambda z: features_at(hidden, z))(start)


@compiled
def linearised(hidden, C, start, dt, steps):
    """The derivatives of every shift in C."""

    def one(z, dt):
        return jax.jacrev(lambda C: shift(hidden, C, z, dt, steps))(C).reshape(len(z), -1)

    return jax.vmap(one)(start, dt)


@compiled
def pulled(hidden, C, start, dt, pull, steps):
    """The gradient of sum pull . shift."""

    def one(C, pair):
        z, dt, pull = pair
        return jnp.dot(pull, shift(hidden, C, z, dt, steps))

    zero = jnp.all(pull == 0, axis=1)
    start = jnp.where(zero[:, None], 0.0, start)
    return jax.grad(lambda C: jnp.sum(jax.lax.map(lambda p: one(C, p), (start, dt, pull), batch_size=CHUNK)))(
        C
    )


@compiled
def propagated(hidden, C, start, dt, steps):
    """The derivative of where the flow ends in where it begins, of every state."""

    def one(pair):
        z, dt = pair
        return jnp.eye(len(z)) + jax.jacfwd(lambda z: shift(hidden, C, z, dt, steps))(z)

    return jax.lax.map(one, (start, dt), batch_size=CHUNK)
