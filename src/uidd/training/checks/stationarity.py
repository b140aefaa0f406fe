"""Is the recording stationary? Then means over its states are means over e^-V."""

from itertools import combinations_with_replacement

import numpy as np
import scipy.stats

from ...data import Trajectories

LARGEST_CHANCE = 1e-2
FEWEST_PATHS = 20
# In standard deviations of all states.
FARTHEST = 5.0
# States that are kept for means, evenly spaced.
KEPT = 16_384


def is_stationary(data: Trajectories) -> bool:
    """Whether paths end where they began, on average over paths: E [g(end) - g(start)] = 0 for every g.

    With all first and second powers for g where there are enough paths, otherwise with their sizes. In time T
    of observation paths that are not stationary move by some T E[L g], L the generator, against noise of size
    T^(1/2), so many short paths tell as much as a few long ones. A few paths have nothing but their ends, and
    long ones forget where they began: they count as stationary here, and `checks` looks at their course.
    """
    if len(set(data.origins)) < FEWEST_PATHS:
        return True
    return stationary_chance(data) > LARGEST_CHANCE


def stationary_chance(data: Trajectories) -> float:
    """Of so large a mean change of all g together, Hotelling's T^2: no choice of coordinates changes it."""
    states = np.concatenate(data.states)
    center, root = states.mean(axis=0), np.linalg.cholesky(np.atleast_2d(np.cov(states.T)))
    ends = (np.linalg.solve(root, (np.stack([s[k] for s in data.states]) - center).T).T for k in (0, -1))
    # In standard deviations: paths that start very far out must not be all of the variance.
    first, last = (np.clip(z, -FARTHEST, FARTHEST) for z in ends)
    change = _features(last, len(first)) - _features(first, len(first))
    n, m = change.shape
    mean, spread = change.mean(axis=0), np.atleast_2d(np.cov(change.T))
    T2 = n * mean @ np.linalg.lstsq(spread, mean, rcond=1e-10)[0]
    return float(scipy.stats.f.sf(T2 * (n - m) / (m * (n - 1)), m, n - m))


def _features(z: np.ndarray, paths: int) -> np.ndarray:
    """First and second powers, or coordinates and square distance, or that alone: half as many as paths."""
    pairs = combinations_with_replacement(range(z.shape[1]), 2)
    square = np.sum(z**2, axis=1, keepdims=True)
    powers = np.stack([z[:, i] * z[:, j] for i, j in pairs], axis=1)
    for each in (np.c_[z, powers], np.c_[z, square]):
        if paths >= 2 * each.shape[1]:
            return each
    return square


def recorded_states(data: Trajectories) -> np.ndarray:
    """At most `KEPT` of them, in the order of recording."""
    states = np.concatenate(data.states)
    return states[:: -(-len(states) // KEPT)]
