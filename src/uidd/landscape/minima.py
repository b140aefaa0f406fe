"""All distinct minima of a potential."""

from typing import Any

import numpy as np
import optimistix

from .._checks import fail
from .records import StationaryPoint
from .stationary import distinct, judged, polished, typical_size
from .surface import Local, Surface, center_of, states_from

MOST_STARTS = 1024


def find_minima(potential: Any, starts: Any = None) -> list[StationaryPoint]:
    """The distinct minima to which quasi-Newton descent from many starts leads, lowest first.

    Args:
        potential: Any function z -> float; a model, an ensemble or a fit stand for theirs.
        starts: States `(n, D)`, data points say; a model brings its own. Their spread sets the scale of
            every coordinate, and at most 1,024 of them, evenly spaced, are used.

    Every minimum has a vanishing gradient and positive eigenvalues only. What does not is left out: a
    valley of equal height has no minimum that could be named.

    >>> [point.x.round(6).tolist() for point in find_minima(lambda z: (z[0] ** 2 - 1) ** 2, [[-2.0], [0.5]])]
    [[-1.0], [1.0]]
    """
    function, starts = starting(potential, starts)
    surface = Surface.around(function, starts)
    return distinct([point for point in relax(surface, starts) if point.result.successful], surface.spread)


def starting(potential: Any, starts: Any) -> tuple[Any, np.ndarray]:
    """The function, and where searches begin."""
    function, _, own = center_of(potential)
    if starts is None and own is None:
        fail("starts", "given for a plain function", "none", "Give states of shape (n, D), data points say.")
    states = states_from("starts", own if starts is None else starts)
    return function, states[:: -(-len(states) // MOST_STARTS)]


def relax(surface: Surface, states: np.ndarray) -> list[StationaryPoint]:
    """The minimum below each state, or what was reached instead."""
    y = surface.inward(states)
    size = typical_size(surface.local(y))
    descended = surface.mapped(_descended, y, np.full(len(y), size))
    reached, local = polished(surface, descended, size, descend=True)
    return [
        judged(surface, one, Local(*(part[k] for part in local)), size, index=0)
        for k, one in enumerate(reached)
    ]


def _descended(energy, y, size):
    # Over the usual curvature, so that the first step, along the gradient, does not leap into another basin.
    solver = optimistix.BFGS(rtol=1e-6, atol=1e-8)
    return optimistix.minimise(lambda y, _: energy(y) / size, solver, y, max_steps=256, throw=False).value
