"""What a user may hand over as a recording, brought to one form or refused in one sentence."""

from typing import Any

import numpy as np

from .._checks import InputError, fail, positive

# Above this a square is no longer a float64, and every mean square is infinite.
_LARGEST = 1e150


def real_numbers(name: str, value: Any) -> np.ndarray:
    """`value` as a float64 array, or one sentence that says why not."""
    try:
        if np.ma.isMaskedArray(value) and value.dtype.kind in "fiub":
            return np.ma.filled(value.astype(np.float64), np.nan)
        array = np.asarray(value)
    except (ValueError, TypeError):
        fail(name, "an array of numbers", f"something NumPy cannot read ({type(value).__name__})")
    if array.dtype == object:
        fail(
            name,
            "an array of numbers",
            "an object array",
            "Give ragged trajectories as a list of arrays.",
        )
    if array.dtype.kind not in "fiub":
        fail(name, "an array of real numbers", f"an array of type {array.dtype}")
    return array.astype(np.float64)


def _is_list_of_arrays(name: str, value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and real_numbers(name, value[0]).ndim >= 1


def as_paths(x: Any) -> list[np.ndarray]:
    """The recorded trajectories as a list of `(t, D)` arrays."""
    if _is_list_of_arrays("x", x):
        paths = [real_numbers("x", item) for item in x]
        paths = [p[:, None] if p.ndim == 1 else p for p in paths]
        for k, p in enumerate(paths):
            if p.ndim != 2:
                fail("x", "a list of arrays (t, D)", f"an array of shape {p.shape} at number {k + 1}")
    else:
        array = real_numbers("x", x)
        if array.ndim not in (1, 2, 3):
            fail("x", "an array (n, t, D), (t, D) or a list of arrays (t, D)", f"shape {array.shape}")
        if array.ndim == 1:
            array = array[:, None]
        paths = [array] if array.ndim == 2 else list(array)
    if not paths or all(len(p) == 0 for p in paths):
        raise InputError("There is no data: no frame was found.")
    if any(p.shape[1] == 0 for p in paths):
        fail("x", "states of at least one coordinate", "none")
    if all(len(p) < 2 for p in paths):
        fail("x", "at least one trajectory of two frames or more", "only single frames")
    return paths


def as_time_stamps(paths: list[np.ndarray], dt: float | None, times: Any) -> list[np.ndarray]:
    """The time stamps of every path."""
    if (dt is None) == (times is None):
        raise InputError(
            "Give either `dt`, the time between two frames, or `times`, the time stamps; got "
            + ("neither." if dt is None else "both.")
        )
    if dt is not None:
        step = positive("dt", dt, "Give the time between two frames.")
        with np.errstate(over="ignore"):  # an infinite stamp is answered with a sentence below
            return [np.arange(len(p)) * step for p in paths]
    if not _is_list_of_arrays("times", times):
        stamp = real_numbers("times", times)
        stamps = list(stamp) if stamp.ndim == 2 else [stamp] * len(paths)
    else:
        stamps = [real_numbers("times", t) for t in times]
    if len(stamps) != len(paths):
        fail("times", "one array of time stamps a trajectory", f"{len(stamps)} for {len(paths)} trajectories")
    for k, (p, t) in enumerate(zip(paths, stamps, strict=True)):
        if t.shape != (len(p),):
            fail("times", "as long as its trajectory", f"{t.shape} for {len(p)} frames in trajectory {k + 1}")
    return stamps


def check_finite(path: np.ndarray, stamp: np.ndarray, k: int) -> None:
    """Refuse infinite states and time that does not increase, in trajectory number `k`."""
    if (np.abs(path) > _LARGEST).any():
        frame = int(np.argwhere(np.abs(path) > _LARGEST)[0, 0])
        fail(
            "x",
            "finite (NaN marks a missing frame)",
            f"an infinite or huge value in trajectory {k + 1}, frame {frame + 1}",
        )
    if not (np.abs(stamp) <= _LARGEST).all():
        fail("times", "finite", f"a NaN, infinite or huge time stamp in trajectory {k + 1}")
    if (np.diff(stamp) <= 0).any():
        frame = int(np.argmax(np.diff(stamp) <= 0))
        fail(
            "times",
            "increasing within a trajectory",
            f"{stamp[frame]:.6g} followed by {stamp[frame + 1]:.6g} in trajectory {k + 1}",
            "Sort the frames, or name the column that tells trajectories apart.",
        )


def runs_without_gap(path: np.ndarray, stamp: np.ndarray, longest: float) -> list[tuple[int, int]]:
    """Half-open ranges of at least two frames with no NaN and no step longer than `longest`."""
    present = np.logical_not(np.isnan(path).any(axis=1))
    joined = present[1:] & present[:-1] & (np.diff(stamp) <= longest)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], joined.astype(np.int8), [0]])))
    return [(int(a), int(b) + 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
