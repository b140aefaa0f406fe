"""Recorded paths: ragged lengths, own time stamps, irregular steps, gaps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._checks import InputError, fail, positive, whole_number
from .transitions import Transitions

# Above this a square is no longer a float64, and every mean square is infinite.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Paths Z(t_0), Z(t_1), ... of one system, in the user's coordinates and time unit.

    Every path is a piece without gaps: frames with NaN cut what was recorded into several pieces.
    `origins[k]` is the recorded trajectory from which piece `k` was cut; pieces of one origin are
    never separated by a split.

    >>> import numpy as np
    >>> walk = np.cumsum(np.ones((5, 2)), axis=0)
    >>> walk[2] = np.nan
    >>> data = Trajectories.from_arrays(walk, dt=0.1)
    >>> len(data), data.dimension, data.pair_count
    (2, 2, 2)
    """

    states: tuple[np.ndarray, ...]
    times: tuple[np.ndarray, ...]
    origins: tuple[int, ...]
    coordinates: tuple[str, ...]
    units: tuple[str, ...] = field(default=())
    time_unit: str = ""

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        dt: float | None = None,
        times: Any = None,
        *,
        coordinates: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        time_unit: str = "",
        max_step: float | None = None,
    ) -> "Trajectories":
        """Check and store paths.

        Args:
            x: An array `(n, t, D)` of n paths, `(t, D)` of one, `(t,)` of one in one dimension, or a
                list of arrays `(t_i, D)` of any lengths.
            dt: The time between two frames. Give `dt` or `times`.
            times: One array of time stamps for all paths, or a list with one array a path.
            coordinates: A name for each coordinate; `z1, z2, ...` by default.
            units: The unit of each coordinate, for labels.
            time_unit: The unit of time, for labels.
            max_step: A step longer than this counts as a gap, as NaN frames do.
        """
        paths = _paths(x)
        stamps = _stamps(paths, dt, times)
        dimension = paths[0].shape[1]
        for k, path in enumerate(paths):
            if path.shape[1] != dimension:
                fail(
                    "x",
                    "trajectories of one dimension",
                    f"{dimension} coordinates in the first and {path.shape[1]} in number {k + 1}",
                )
            _check_finite(path, stamps[k], k)
        longest = np.inf if max_step is None else positive("max_step", max_step)
        pieces = [
            (path[a:b], stamp[a:b], k)
            for k, (path, stamp) in enumerate(zip(paths, stamps, strict=True))
            for a, b in _runs_without_gap(path, stamp, longest)
        ]
        if not pieces:
            raise InputError(
                "No two successive frames without a gap were found; at least two frames of one trajectory "
                "are needed."
            )
        names = _names("coordinates", coordinates, dimension) or tuple(f"z{i + 1}" for i in range(dimension))
        data = cls(
            states=tuple(p[0] for p in pieces),
            times=tuple(p[1] for p in pieces),
            origins=tuple(p[2] for p in pieces),
            coordinates=names,
            units=_names("units", units, dimension),
            time_unit=time_unit,
        )
        _check_moving(data)
        return data

    @property
    def dimension(self) -> int:
        """The number of coordinates, D."""
        return self.states[0].shape[1]

    @property
    def pair_count(self) -> int:
        """The number of successive pairs of frames."""
        return sum(len(s) - 1 for s in self.states)

    @property
    def total_time(self) -> float:
        """The observed time, summed over all pieces."""
        return float(sum(t[-1] - t[0] for t in self.times))

    @property
    def typical_step(self) -> float:
        """The median time between two frames."""
        return float(np.median(np.concatenate([np.diff(t) for t in self.times])))

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        return (
            f"Trajectories({len(self)} paths, {self.pair_count} pairs, D={self.dimension}, "
            f"total time {self.total_time:.6g} {self.time_unit}".rstrip()
            + ")"
        )

    def transitions(self) -> Transitions:
        """All successive pairs (Z_k, Z_{k+1} - Z_k, t_{k+1} - t_k)."""
        return Transitions(
            start=np.concatenate([s[:-1] for s in self.states]),
            increment=np.concatenate([np.diff(s, axis=0) for s in self.states]),
            dt=np.concatenate([np.diff(t) for t in self.times]),
        )

    def select(self, indices: Sequence[int]) -> "Trajectories":
        """The pieces with these indices."""
        return replace(
            self,
            states=tuple(self.states[i] for i in indices),
            times=tuple(self.times[i] for i in indices),
            origins=tuple(self.origins[i] for i in indices),
        )

    def in_blocks(self, count: int) -> "Trajectories":
        """Cut the recording into about `count` contiguous blocks, each its own origin.

        A split by trajectory needs trajectories. One long recording becomes blocks; the step between
        two blocks belongs to neither, so blocks share no frame and no pair.
        """
        length = max(2, -(-sum(map(len, self.states)) // whole_number("count", count)))
        cuts = [
            (s[a : a + length], t[a : a + length])
            for s, t in zip(self.states, self.times, strict=True)
            for a in range(0, len(s), length)
            if len(s[a : a + length]) >= 2
        ]
        return replace(
            self,
            states=tuple(c[0] for c in cuts),
            times=tuple(c[1] for c in cuts),
            origins=tuple(range(len(cuts))),
        )

    def split(self, fractions: Sequence[float] = (0.8, 0.1, 0.1), *, seed: int) -> tuple["Trajectories", ...]:
        """Disjoint parts by trajectory, at random: train, validation, test by default.

        Fewer than 20 recorded trajectories are first cut into 20 contiguous blocks.
        """
        parts_wanted = np.asarray([positive("fractions", f) for f in fractions])
        if not len(parts_wanted):
            fail("fractions", "at least one positive number", "none")
        source = self if len(set(self.origins)) >= 20 else self.in_blocks(20)
        origins = np.unique(source.origins)
        if len(origins) < len(fractions):
            fail(
                "data",
                f"long enough to be split into {len(fractions)} parts",
                f"{self.pair_count + len(self)} frames",
                "Record at least six frames.",
            )
        order = np.random.default_rng(whole_number("seed", seed, least=0)).permutation(origins)
        sizes = _part_sizes(len(origins), parts_wanted)
        edges = np.concatenate([[0], np.cumsum(sizes)])
        parts = []
        for a, b in pairwise(edges.tolist()):
            chosen = set(order[a:b].tolist())
            parts.append(source.select([i for i, o in enumerate(source.origins) if o in chosen]))
        return tuple(parts)


def _part_sizes(count: int, fractions: np.ndarray) -> np.ndarray:
    """Whole sizes in the proportion of `fractions`, every part at least one."""
    sizes = 1 + np.floor((count - len(fractions)) * fractions / fractions.sum()).astype(int)
    sizes[np.argmax(fractions)] += count - sizes.sum()
    return sizes


def _numbers(name: str, value: Any) -> np.ndarray:
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
    return isinstance(value, (list, tuple)) and len(value) > 0 and _numbers(name, value[0]).ndim >= 1


def _paths(x: Any) -> list[np.ndarray]:
    """The recorded trajectories as a list of `(t, D)` arrays."""
    if _is_list_of_arrays("x", x):
        paths = [_numbers("x", item) for item in x]
        paths = [p[:, None] if p.ndim == 1 else p for p in paths]
        for k, p in enumerate(paths):
            if p.ndim != 2:
                fail("x", "a list of arrays (t, D)", f"an array of shape {p.shape} at number {k + 1}")
    else:
        array = _numbers("x", x)
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


def _stamps(paths: list[np.ndarray], dt: float | None, times: Any) -> list[np.ndarray]:
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
        stamp = _numbers("times", times)
        stamps = list(stamp) if stamp.ndim == 2 else [stamp] * len(paths)
    else:
        stamps = [_numbers("times", t) for t in times]
    if len(stamps) != len(paths):
        fail("times", "one array of time stamps a trajectory", f"{len(stamps)} for {len(paths)} trajectories")
    for k, (p, t) in enumerate(zip(paths, stamps, strict=True)):
        if t.shape != (len(p),):
            fail("times", "as long as its trajectory", f"{t.shape} for {len(p)} frames in trajectory {k + 1}")
    return stamps


def _check_finite(path: np.ndarray, stamp: np.ndarray, k: int) -> None:
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


def _runs_without_gap(path: np.ndarray, stamp: np.ndarray, longest: float) -> list[tuple[int, int]]:
    """Half-open ranges of at least two frames with no NaN and no step longer than `longest`."""
    present = np.logical_not(np.isnan(path).any(axis=1))
    joined = present[1:] & present[:-1] & (np.diff(stamp) <= longest)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], joined.astype(np.int8), [0]])))
    return [(int(a), int(b) + 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _names(name: str, given: Sequence[str] | None, dimension: int) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(str(n) for n in given)
    if len(names) != dimension:
        fail(name, f"{dimension} names, one a coordinate", f"{len(names)}")
    return names


def _check_moving(data: Trajectories) -> None:
    """A coordinate that never changes has no diffusion: the likelihood would be infinite."""
    for i, name in enumerate(data.coordinates):
        if all(np.ptp(s[:, i]) == 0 for s in data.states):
            raise InputError(
                f"Coordinate '{name}' is constant in every trajectory, so it has no dynamics to learn. "
                "Leave it out."
            )
