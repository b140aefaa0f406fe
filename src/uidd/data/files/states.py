"""Which of the arrays in a file hold the states."""

import re

import numpy as np

from ..._checks import fail

_NAMES = ("states", "data", "trajectories", "positions", "paths", "coordinates")
_LETTERS = ("x", "z")


def find_states(
    arrays: dict[str, np.ndarray], free: dict[str, np.ndarray], columns: tuple[str, ...] | None
) -> np.ndarray | list[np.ndarray] | dict[str, np.ndarray]:
    """One array of states, a list with an array a trajectory, or one array a coordinate by name.

    In this order: what `columns` names; an array called states, data, trajectories, positions, paths
    or coordinates; arrays of one dimension and one length, each a coordinate; an array called x or z;
    the only array of numbers; arrays `(t_i, D)` of one D, each a trajectory, by name in natural order.
    """
    if columns is not None and set(columns) <= set(arrays):
        return _named_states(arrays, columns)
    known = [n for n in _NAMES if n in arrays and arrays[n].ndim and arrays[n].dtype.kind not in "US"]
    if len(known) > 1:
        _ambiguous(known)
    if known:
        return _without_objects(known[0], arrays[known[0]])
    shapes = {array.shape for array in free.values()}
    if len(free) > 1 and len(shapes) == 1 and all(len(shape) == 1 for shape in shapes):
        # arr_0, arr_1 are what NumPy calls arrays without a name: coordinates or trajectories?
        if all(re.fullmatch(r"arr_\d+", name) for name in free):
            _ambiguous(list(free))
        return free
    for letter in _LETTERS:
        if letter in free:
            alike = [n for n in free if free[n].shape == free[letter].shape or n in _LETTERS]
            return free[letter] if len(alike) == 1 else _ambiguous(alike)
    if len(free) == 1:
        return next(iter(free.values()))
    if free and all(a.ndim == 2 for a in free.values()) and len({a.shape[1] for a in free.values()}) == 1:
        return [free[name] for name in sorted(free, key=_natural)]
    for name, array in arrays.items():
        if not free:
            _without_objects(name, array)
    return fail(
        "path",
        "a file with one array of states, or one array (t, D) a trajectory",
        f"{_described(arrays)}",
        "Call the array of states 'states', or name it with `columns`.",
    )


def _named_states(
    arrays: dict[str, np.ndarray], columns: tuple[str, ...]
) -> np.ndarray | dict[str, np.ndarray]:
    named = {name: _without_objects(name, arrays[name]) for name in columns}
    if len(named) == 1 and named[columns[0]].ndim != 1:
        return named[columns[0]]
    if len({a.shape for a in named.values()}) != 1 or any(
        a.ndim != 1 or a.dtype.kind not in "fiu" for a in named.values()
    ):
        fail("columns", "arrays of numbers of one dimension and length, or one array", _described(named))
    return named


def _without_objects(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype == object:
        fail(
            name,
            "an array of numbers",
            "an array of Python objects, which is not read because it may hold code",
            "Save ragged trajectories as one array each.",
        )
    return array


def _ambiguous(names: list[str]) -> np.ndarray:
    return fail(
        "path",
        "a file in which it is clear which array holds the states",
        ", ".join(map(repr, names[:12])),
        "Name the right one with `columns`, or stack them to one array 'states' of shape (n, t, D).",
    )


def _described(arrays: dict[str, np.ndarray]) -> str:
    told = [f"{name!r} {array.shape} {array.dtype}" for name, array in list(arrays.items())[:12]]
    return ("arrays " + ", ".join(told) + (", ..." if len(arrays) > 12 else "")) if told else "no array"


def _natural(name: str) -> list:
    """Sort key in which `path10` follows `path9`."""
    parts = re.split(r"(\d+)", name)
    digits = [(len(d.lstrip("0")), d.lstrip("0")) for d in parts[1::2]]
    return [parts[0], *(key for pair in zip(digits, parts[2::2], strict=True) for key in pair)]
