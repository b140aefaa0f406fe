"""Recorded paths: ragged lengths, own time stamps, irregular steps, gaps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._checks import InputError, fail, one_of, positive, whole_number
from .recorded import as_paths, as_time_stamps, check_finite, runs_without_gap
from .transitions import Transitions


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
        paths = as_paths(x)
        stamps = as_time_stamps(paths, dt, times)
        dimension = paths[0].shape[1]
        for k, path in enumerate(paths):
            if path.shape[1] != dimension:
                fail(
                    "x",
                    "trajectories of one dimension",
                    f"{dimension} coordinates in the first and {path.shape[1]} in number {k + 1}",
                )
            check_finite(path, stamps[k], k)
        longest = np.inf if max_step is None else positive("max_step", max_step)
        pieces = [
            (path[a:b], stamp[a:b], k)
            for k, (path, stamp) in enumerate(zip(paths, stamps, strict=True))
            for a, b in runs_without_gap(path, stamp, longest)
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

    def select_coordinates(self, names: Sequence[str]) -> "Trajectories":
        """The same paths seen through these coordinates alone, in this order."""
        if isinstance(names, str) or not len(names) or len(set(names)) < len(names):
            fail("names", "a list of distinct coordinates", repr(names))
        kept = [self.coordinates.index(one_of("names", name, self.coordinates)) for name in names]
        return replace(
            self,
            states=tuple(np.ascontiguousarray(s[:, kept]) for s in self.states),
            coordinates=tuple(names),
            units=tuple(self.units[k] for k in kept) if self.units else (),
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
                "Leave it out: name the other coordinates."
            )
