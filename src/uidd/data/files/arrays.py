"""Named arrays to trajectories, as `.npz`, `.npy` and `.h5` files hold them."""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..._checks import fail, positive
from ..trajectories import Trajectories
from . import tables
from .recording import gather, rows_by_length, rows_of_each
from .request import Request
from .roles import Roles, ask_for_time, assign, named, role, time_unit
from .states import find_states

Arrays: TypeAlias = dict[str, np.ndarray]
_OTHER = ("dt", "lengths", "origins", "units", "time_unit")


def trajectories(arrays: Arrays, request: Request) -> Trajectories:
    """Find the states, their time stamps and their trajectories among the arrays."""
    for argument in ("time", "trajectory"):
        name = getattr(request, argument)
        if name is not None:
            named(argument, name, list(arrays))
    free, labels = _sorted_out(arrays, request)
    roles = assign(list(labels), request)
    if request.dt is None and roles.time is None and "dt" in arrays:
        request = replace(request, dt=_step(arrays["dt"]))
        roles = assign(list(labels), request)
    states = find_states(arrays, free, request.columns)
    if isinstance(states, dict):
        return tables.trajectories(_series({**labels, **states}), request)
    stamps = _stamps(arrays, roles, request)
    if isinstance(states, list):
        return _listed(arrays, states, stamps, roles, request)
    return _from_one(arrays, states, stamps, roles, request)


def _sorted_out(arrays: Arrays, request: Request) -> tuple[Arrays, Arrays]:
    """Arrays that may be states, and arrays that label frames: time stamps, frame numbers, ids."""
    flat = {n: a for n, a in arrays.items() if a.ndim and a.dtype.kind in "fiuUS" and n not in _OTHER}
    labels = {
        name: array
        for name, array in flat.items()
        if name in (request.time, request.trajectory)
        or (name not in (request.columns or ()) and role(name) != "coordinate" and _labels(name, array))
    }
    numeric = {n: a for n, a in flat.items() if a.dtype.kind in "fiu"}
    if len(numeric) == 1 and set(numeric) == set(labels) and not (request.time or request.trajectory):
        return numeric, {}
    return {n: a for n, a in numeric.items() if n not in labels}, labels


def _labels(name: str, array: np.ndarray) -> bool:
    """Whether the shape and type of an array go with the role that its name says."""
    if array.dtype.kind in "US":
        return array.ndim == 1 and role(name) in ("trajectory", "id")
    return array.ndim == 1 or (array.ndim == 2 and role(name) == "time")


def _step(dt: np.ndarray) -> float:
    if dt.size != 1 or dt.dtype.kind not in "fiu":
        fail("dt", "one positive number", f"an array of shape {dt.shape} and type {dt.dtype}")
    return positive("dt", dt.ravel()[0], "Give the time between two frames with --dt (dt=).")


def _stamps(arrays: Arrays, roles: Roles, request: Request) -> np.ndarray | None:
    if roles.time is not None:
        return arrays[roles.time]
    if request.dt is None:
        ask_for_time(list(arrays))
    with np.errstate(over="ignore"):  # an infinite stamp is answered with a sentence by `Trajectories`
        return None if roles.frame is None else arrays[roles.frame] * request.dt


def _listed(
    arrays: Arrays, states: list[np.ndarray], stamps: np.ndarray | None, roles: Roles, request: Request
) -> Trajectories:
    """One array a trajectory; all of them share the time stamps."""
    if request.trajectory is not None:
        fail("trajectory", "left out where every trajectory has its own array", repr(request.trajectory))
    names, described, chosen = _described(arrays, states[0].shape[1], roles, request)
    step = request.dt if stamps is None else None
    return Trajectories.from_arrays(
        [s[:, chosen] for s in states], step, stamps, coordinates=names, **described
    )


def _from_one(
    arrays: Arrays, states: np.ndarray, stamps: np.ndarray | None, roles: Roles, request: Request
) -> Trajectories:
    """One array of states: of one trajectory, of many behind one another, or of many side by side."""
    if states.ndim == 1:
        states = states[:, None]
    if states.ndim not in (2, 3):
        fail("states", "an array (n, t, D) or (t, D)", f"shape {states.shape}")
    names, described, chosen = _described(arrays, states.shape[-1], roles, request)
    states = states[..., chosen]
    if states.ndim == 3:
        if request.trajectory is not None:
            fail("trajectory", "left out for states of shape (n, t, D)", repr(request.trajectory))
        step = request.dt if stamps is None else None
        return Trajectories.from_arrays(states, step, stamps, coordinates=names, **described)
    rows, origins = [np.arange(len(states))], None
    if "lengths" in arrays and request.trajectory is None:
        rows = rows_by_length(arrays["lengths"], len(states))
        origins = _origins(arrays, len(rows))
    elif roles.trajectory is not None:
        ids = arrays[roles.trajectory]
        if ids.shape != (len(states),) or ids.dtype.kind not in "fiuUS":
            fail(roles.trajectory, f"one id for each of the {len(states)} frames", f"shape {ids.shape}")
        rows = rows_of_each(ids)
    return gather(states, stamps, rows, dt=request.dt, origins=origins, coordinates=names, **described)


def _origins(arrays: Arrays, count: int) -> list[int] | None:
    origins = arrays.get("origins")
    if origins is None:
        return None
    if origins.shape != (count,) or origins.dtype.kind not in "iu":
        fail("origins", f"{count} whole numbers, one a trajectory", f"shape {origins.shape}, {origins.dtype}")
    return origins.tolist()


def _described(
    arrays: Arrays, dimension: int, roles: Roles, request: Request
) -> tuple[list[str], dict[str, Any], list[int]]:
    """The names of the coordinates, the units, and which coordinates the caller chose."""
    names = _words(arrays, "coordinates") or [f"z{i + 1}" for i in range(dimension)]
    units = _words(arrays, "units")
    for key, words in (("coordinates", names), ("units", units)):
        if words and len(words) != dimension:
            fail(key, f"{dimension} names, one a coordinate", str(len(words)))
    chosen = list(range(dimension))
    if request.columns is not None and not set(request.columns) <= set(arrays):
        chosen = [names.index(named("columns", name, names)) for name in request.columns]
    described = {
        "units": [units[i] for i in chosen] if units else None,
        "time_unit": "".join(_words(arrays, "time_unit")) or time_unit(roles.time),
        "max_step": request.max_step,
    }
    return [names[i] for i in chosen], described, chosen


def _words(arrays: Arrays, key: str) -> list[str]:
    array = arrays.get(key)
    if array is None or array.dtype.kind not in "US":
        return []
    words = array.ravel().tolist()
    return [w.decode("utf-8", "replace") if isinstance(w, bytes) else w for w in words]


def _series(arrays: Arrays) -> tables.Table:
    """Arrays of one dimension as the columns of a table."""
    import polars as pl

    wide = {"f": np.float64, "i": np.int64, "u": np.uint64}
    return {
        name: pl.Series(
            name, array.astype(wide[array.dtype.kind]) if array.dtype.kind in wide else _words(arrays, name)
        )
        for name, array in arrays.items()
        if array.ndim == 1
    }
