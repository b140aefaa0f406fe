"""The current velocity and the flow that it generates."""

import diffrax
import jax.numpy as jnp

from .._types import State
from ..dynamics import AbstractDynamics


def current_velocity(dynamics: AbstractDynamics, z: State) -> State:
    """f_irr(z): the stationary probability current divided by the stationary density."""
    return dynamics.irreversible_drift(z)


def current_flow(dynamics: AbstractDynamics, z: State, duration: float) -> State:
    """phi_t(z), where the current carries z in the time `duration` (which may be negative).

    Solves dz/dt = f_irr(z). The flow preserves the stationary density: the average of A(phi_t(z)) over
    e^-V equals that of A(z), for any A.
    """
    solution = diffrax.diffeqsolve(
        # Time is measured in units of `duration`, so that it may be traced, zero or negative.
        diffrax.ODETerm(lambda t, y, args: duration * dynamics.irreversible_drift(y)),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=None,
        y0=jnp.asarray(z, jnp.result_type(float)),
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-7),
        max_steps=16**4,
    )
    assert solution.ys is not None
    return solution.ys[-1]
