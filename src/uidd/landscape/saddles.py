"""Saddles by gentlest ascent."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from .minima import starting
from .records import StationaryPoint
from .stationary import distinct, judged, polished, typical_size
from .surface import Local, Surface

# Times are in units of the largest usual curvature.
LONGEST_TIME = 1000.0
MOST_STEPS = 512


def find_saddle(potential: Any, starts: Any = None) -> StationaryPoint | list[StationaryPoint]:
    """Where gentlest ascent leads from a start, or from each of many.

        z' = -grad V + 2 (v . grad V) / (v . v) v,    v' = -H v + (v . H v) / (v . v) v,

    which climbs along v, the softest direction, and descends along all others. What it reaches is brought to
    a true stationary point by Newton's iteration, and is a saddle only if the gradient vanishes and
    exactly one eigenvalue of the Hessian is negative; otherwise its `result` says what it is.

    Args:
        potential: Any function z -> float; a model, an ensemble or a fit stand for theirs.
        starts: One state `(D,)`, for which one point is returned, or states `(n, D)`, for which a list is.
            A model brings its own. At most 1,024, evenly spaced, are used.

    >>> find_saddle(lambda z: (z[0] ** 2 - 1) ** 2 + z[1] ** 2, [0.3, 0.2]).energy
    1.0
    """
    single = starts is not None and np.ndim(getattr(starts, "x", starts)) == 1
    function, states = starting(potential, starts)
    surface = Surface.around(function, states)
    found = ascend(surface, states)
    return found[0] if single else found


def find_saddles(potential: Any, starts: Any = None) -> list[StationaryPoint]:
    """The distinct saddles that gentlest ascent from many starts leads to, lowest first."""
    function, states = starting(potential, starts)
    surface = Surface.around(function, states)
    accepted = [point for point in ascend(surface, states) if point.result.successful]
    return distinct(accepted, surface.spread)


def ascend(
    surface: Surface, states: np.ndarray, directions: np.ndarray | None = None
) -> list[StationaryPoint]:
    """One point a start; directions are in the surface's coordinates, by default the softest."""
    y = surface.inward(states)
    local = surface.local(y)
    size = typical_size(local)
    if directions is None:
        directions = np.linalg.eigh(np.nan_to_num(local.hessian))[1][:, :, 0]
    climbed = surface.mapped(_climbed, y, directions, np.full(len(y), size))
    reached, local = polished(surface, climbed, size, descend=False)
    return [
        judged(surface, one, Local(*(part[k] for part in local)), size, index=1)
        for k, one in enumerate(reached)
    ]


def _climbed(energy, y, v, size):
    def flow(t, state, args):
        y, v = state
        g, Hv = jax.jvp(jax.grad(energy), (y,), (v,))
        g, Hv, square = g / size, Hv / size, v @ v
        return -g + 2 * (v @ g) / square * v, -Hv + (v @ Hv) / square * v

    def settled(t, state, args, **kwargs):
        return jnp.linalg.norm(flow(t, state, args)[0]) < 1e-5

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(flow),
        diffrax.Tsit5(),
        0.0,
        LONGEST_TIME,
        None,
        (y, v),
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-4),
        event=diffrax.Event(settled),
        max_steps=MOST_STEPS,
        throw=False,
    )
    assert solution.ys is not None
    return solution.ys[0][-1]
