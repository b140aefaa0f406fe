"""Barriers between minima, with error bars."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from .._types import Result
from .minima import find_minima, starting
from .path import in_widths, lowest_path, two_minima
from .records import Barrier, EnergyPath, Landscape, StationaryPoint
from .stationary import next_to, same
from .surface import Potential, Surface, center_of

# Of the members of an ensemble, so many must have the barrier too.
LEAST_SHARE = 0.9
NEIGHBOURS = 6
MOST_LINKED = 12
# In thermal widths: how far a stationary point may lie from where the center has it.
FARTHEST = 3.0


def barrier(potential: Any, a: Any, b: Any, *, seed: int = 0) -> Barrier:
    """What it takes to go from the minimum below `a` to the one below `b`, by the lowest path found.

    A height is given only where both ends are minima, the path settled, and its summit is a stationary point
    with exactly one negative eigenvalue; otherwise it is nan and `result` says why.

    Args:
        potential: Any function z -> float, or a model. A fit or an ensemble gives an error bar: minima
            and saddle are followed on each of its members.
        a: A state near the first minimum, or a `StationaryPoint`.
        b: A state near the second.
        seed: Of the paths that are tried.

    >>> barrier(lambda z: 5 * (z[0] ** 2 - 1) ** 2 + z[1] ** 2, [-1.0, 0.1], [0.9, 0.0]).height
    5.0
    """
    function, members, _ = center_of(potential)
    return _over(function, members, lowest_path(function, *two_minima(function, a, b), seed=seed))


def barriers(potential: Any, starts: Any = None, *, seed: int = 0) -> list[Barrier]:
    """The barriers between neighbouring minima, lowest saddle first: those of `survey`."""
    return list(survey(potential, starts, seed=seed).barriers)


def survey(potential: Any, starts: Any = None, *, most: int = MOST_LINKED, seed: int = 0) -> Landscape:
    """All minima, and the barriers between those that are neighbours.

    Two minima are neighbours where a path leads from one over one saddle straight to the other. Minima
    that are met on the way between two others are taken in.

    Args:
        potential: As for `barrier`.
        starts: As for `find_minima`.
        most: Paths are sought between so many of the minima, the lowest.
        seed: Of the paths that are tried.
    """
    function, states = starting(potential, starts)
    members = center_of(potential)[1]
    spread = Surface.around(function, states).spread
    minima, links = _links(function, find_minima(function, states), spread, most, seed)
    found = (_over(function, members, path) for path in links)
    return Landscape(
        tuple(sorted(minima, key=lambda point: point.energy)),
        tuple(sorted(found, key=lambda each: each.saddle.energy if each.saddle else np.inf)),
    )


def _links(
    function, minima: Sequence[StationaryPoint], spread: np.ndarray, most: int, seed: int
) -> tuple[list[StationaryPoint], list[EnergyPath]]:
    """The minima with those met on the way, and settled paths between neighbours, each from its lower end."""
    known, links = list(minima), {}

    def number(point: StationaryPoint) -> int:
        for k, other in enumerate(known):
            if same(point, other, spread):
                return k
        known.append(point)
        return len(known) - 1

    for first, second in _pairs(known[:most], spread):
        if frozenset((first, second)) in links:
            continue
        path = lowest_path(function, known[first], known[second], seed=seed)
        if not path.result.successful:
            continue
        for part in _parts(path):
            pair = frozenset((number(part.minima[0]), number(part.minima[1])))
            if pair not in links or part.saddles[0].energy < links[pair].saddles[0].energy - 1e-9:
                links[pair] = part if part.minima[0].energy <= part.minima[1].energy else part.reversed
    return known, list(links.values())


def _pairs(points: Sequence[StationaryPoint], spread: np.ndarray) -> list[tuple[int, int]]:
    """All, or, where they are many, those of each point with its nearest; near ones first."""
    places = np.array([point.x for point in points]).reshape(len(points), -1) / spread
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    nearest = np.argsort(apart, axis=1)[:, : NEIGHBOURS + 1]
    near = [(i, j) for i, j in combinations(range(len(points)), 2) if j in nearest[i] or i in nearest[j]]
    return sorted(near, key=lambda pair: apart[pair])


def _parts(path: EnergyPath) -> Iterator[EnergyPath]:
    """A path over several saddles as one path a saddle."""
    if len(path.saddles) == 1:
        yield path
        return
    places = [int(np.argmin(np.linalg.norm(path.points - point.x, axis=1))) for point in path.minima]
    for k, saddle in enumerate(path.saddles):
        cut = slice(places[k], places[k + 1] + 1)
        yield EnergyPath(path.points[cut], path.energies[cut], path.minima[k : k + 2], (saddle,), path.result)


def _over(function: Potential, members: Sequence[Potential], path: EnergyPath) -> Barrier:
    first, last, top = path.minima[0], path.minima[-1], path.highest
    if not path.result.successful or top is None:
        return Barrier(np.nan, np.nan, first, last, None, path, result=path.result)
    found = Barrier(top.energy - first.energy, np.nan, first, last, top, path)
    if not members:
        return found
    widths = in_widths(function, first, last).spread
    heights = np.array([_followed(member, widths, first, top) for member in members])
    kept = heights[np.isfinite(heights)]
    error = float(np.std(kept, ddof=1)) if len(kept) > 1 else np.nan
    result = Result()
    if len(kept) < LEAST_SHARE * len(heights):
        words = f"Only {len(kept)} of {len(heights)} members of the ensemble have this barrier."
        result = Result("members_differ", words)
    return replace(found, standard_error=error, members=heights, result=result)


def _followed(member: Potential, widths: np.ndarray, bottom: StationaryPoint, top: StationaryPoint) -> float:
    """The height on another surface, between the stationary points next to the known ones."""
    surface, energies = Surface(member, bottom.x, widths), []
    for point, index in ((bottom, 0), (top, 1)):
        one = next_to(surface, point.x, index=index)
        moved = np.linalg.norm((one.x - point.x) / widths)
        energies.append(one.energy if one.result.successful and moved < FARTHEST else np.nan)
    return energies[1] - energies[0]
