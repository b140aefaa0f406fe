"""Is the recording stationary? Then means over its states are means over e^-V."""

from itertools import combinations_with_replacement

import numpy as np
import scipy.stats

from ..data import Trajectories

LARGEST_CHANCE = 1e-2
FEWEST_PATHS = 20
# States that are kept for means, evenly spaced.
KEPT = 16_384


def is_stationary(data: Trajectories) -> bool:
    """Whether paths end where they began, on average over paths: E [g(end) - g(start)] = 0 for every g.

    With first and second powers for g. In time T of observation paths that are not stationary move by some T
    E[L g], L the generator, against noise of size T^(1/2), so many short paths tell as much as a few long
    ones. A few paths have nothing but their ends, and long ones forget where they began: they count as
    stationary here, and `checks` looks at their course.
    """
    if len(set(data.origins)) < FEWEST_PATHS:
        return True
    states = np.concatenate(data.states)
    center, scale = states.mean(axis=0), states.std(axis=0)
    first, last = (np.clip((np.stack([s[k] for s in data.states]) - center) / scale, -5, 5) for k in (0, -1))
    changes = [last - first] + [
        (last[:, i] * last[:, j] - first[:, i] * first[:, j])[:, None]
        for i, j in combinations_with_replacement(range(data.dimension), 2)
    ]
    change = np.concatenate(changes, axis=1)
    t = change.sum(axis=0) / np.sqrt(np.sum((change - change.mean(axis=0)) ** 2, axis=0) + 1e-30)
    chance = 2 * len(t) * scipy.stats.t.sf(np.abs(t).max(), len(change) - 1)
    return bool(chance > LARGEST_CHANCE)


def recorded_states(data: Trajectories) -> np.ndarray:
    """At most `KEPT` of them, in the order of recording."""
    states = np.concatenate(data.states)
    return states[:: -(-len(states) // KEPT)]
