"""Rows that belong to several trajectories, told apart and handed to `Trajectories`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._checks import fail
from ..trajectories import Trajectories


def rows_of_each(ids: np.ndarray) -> list[np.ndarray]:
    """The rows of every trajectory in file order; trajectories in the order they first appear.

    >>> [rows.tolist() for rows in rows_of_each(np.array([7, 3, 7, 3, 5]))]
    [[0, 2], [1, 3], [4]]
    """
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[inverse.ravel()]
    return np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])


def rows_by_length(lengths: np.ndarray, count: int) -> list[np.ndarray]:
    """The rows of trajectories that lie behind one another."""
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        fail("lengths", "the number of frames of each trajectory", f"an array {_information_shares(lengths)}")
    if sum(lengths.tolist()) != count:
        fail("lengths", f"numbers that add up to the {count} frames in the file", f"{sum(lengths.tolist())}")
    return np.split(np.arange(count), np.cumsum(lengths)[:-1])


def gather(
    states: np.ndarray,
    stamps: np.ndarray | None,
    rows: list[np.ndarray],
    *,
    dt: float | None,
    origins: Sequence[int] | None = None,
    **described: Any,
) -> Trajectories:
    """Trajectories of the given rows of `states`, with their own time stamps if there are any."""
    if stamps is not None and stamps.shape != (len(states),):
        fail("times", f"one for each of the {len(states)} frames", f"an array {_information_shares(stamps)}")
    times = None if stamps is None else [stamps[r] for r in rows]
    step = dt if stamps is None else None
    data = Trajectories.from_arrays([states[r] for r in rows], step, times, **described)
    if origins is None:
        return data
    return replace(data, origins=tuple(int(origins[k]) for k in data.origins))


def _information_shares(array: np.ndarray) -> str:
    return f"of shape {array.shape} and type {array.dtype}"
