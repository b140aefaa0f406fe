"""Entropy production by counting transitions between bins, without a model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import fail, whole_number
from .._types import Result
from ..data import Trajectories
from .records import Estimate

LADDER = (3, 4, 5, 7, 10, 15, 20, 30, 40)
MOST_UNPAIRED = 0.02
FEWEST_GROUPS, MOST_GROUPS = 20, 200
# Entries of a table that is looked up instead of sorting.
LARGEST_TABLE = 40_000_000


@dataclass(frozen=True)
class CountedEntropyProduction(Estimate):
    """A counting estimate, with what is needed to judge it.

    Attributes:
        bins: A coordinate's.
        transitions: How many were counted.
        unpaired_share: Of them, those never seen in reverse.
        null: What the same estimator gives when a random half of the trajectories is turned round:
            reversible data of the same size and correlation. A rate near it says nothing.
        null_spread: The standard deviation of that.
        bins_spread: The standard deviation of rate - null over the numbers of bins that could as well have
            been chosen; nan where the number was given.
    """

    bins: int = 0
    transitions: int = 0
    unpaired_share: float = 0.0
    null: float = 0.0
    null_spread: float = 0.0
    bins_spread: float = float("nan")

    @property
    def excess(self) -> float:
        """The rate less its null: what the bias of counting does not explain."""
        return self.rate - self.null

    def to_dict(self) -> dict[str, Any]:
        """With the null and what else is needed to judge the rate."""
        further = ("bins", "transitions", "unpaired_share", "null", "null_spread")
        return {**super().to_dict(), **{name: getattr(self, name) for name in further}}

    def __str__(self) -> str:
        return f"{super().__str__()} (null {self.null:.3g})"


@dataclass(frozen=True)
class _Moves:
    """Transitions between visited cells, counted.

    Attributes:
        counts: Transitions of each kind in each group of trajectories, (groups, kinds).
        reverse: The kind that leads back.
        total: All transitions.
        step: The mean time between frames.
    """

    counts: np.ndarray
    reverse: np.ndarray
    total: int
    step: float

    @classmethod
    def of(cls, data: Trajectories, bins: int) -> "_Moves":
        lengths = np.array([len(s) for s in data.states])
        cells = _numbered(_cells(data, bins))
        inside = np.ones(len(cells) - 1, bool)
        inside[np.cumsum(lengths)[:-1] - 1] = False  # no transition from one trajectory to the next
        size = int(cells.max()) + 1
        source, target = cells[:-1][inside], cells[1:][inside]
        seen, kind = _unique(source * np.int64(size) + target, size**2)
        turned = seen % size * size + seen // size
        kinds = np.concatenate([seen, np.setdiff1d(turned, seen)])  # every kind has its reverse
        order = np.argsort(kinds)
        reverse = order[np.searchsorted(kinds, kinds % size * size + kinds // size, sorter=order)]
        groups = _groups(len(lengths), len(kinds))
        owner = np.repeat(np.arange(len(lengths)) % groups, lengths - 1)
        counts = np.bincount(owner * np.int64(len(kinds)) + kind, minlength=groups * len(kinds))
        return cls(
            counts=counts.reshape(groups, len(kinds)),
            reverse=reverse,
            total=len(kind),
            step=float(np.sum([t[-1] - t[0] for t in data.times]) / len(kind)),
        )

    def rate(self, counts: np.ndarray) -> tuple[float, float]:
        """The estimate and the share of unpaired transitions, from counts of every kind."""
        seen = counts > 0
        forward, backward = counts[seen], counts[self.reverse][seen]
        paired = backward > 0
        ratio = np.log(forward / np.where(paired, backward, forward.min() / 10))
        total = forward.sum()
        return float(forward @ ratio / total / self.step), float(forward[~paired].sum() / total)

    def resampled(self, generator: np.random.Generator) -> float:
        """The estimate from as many groups, drawn with replacement."""
        groups = len(self.counts)
        weights = np.bincount(generator.integers(groups, size=groups), minlength=groups)
        return self.rate(weights @ self.counts)[0]

    def turned(self, generator: np.random.Generator) -> float:
        """The estimate with a random half of the groups turned round.

        Exactly half of them, so that no current is left but that of chance.
        """
        groups = len(self.counts)
        back = np.zeros(groups, bool)
        back[generator.permutation(groups)[: groups // 2]] = True
        return self.rate(self.counts[~back].sum(axis=0) + self.counts[back].sum(axis=0)[self.reverse])[0]


def _cells(data: Trajectories, bins: int) -> list[np.ndarray]:
    """The bin of every frame, one array a coordinate."""
    low, high = (np.array([f(s, axis=0) for s in data.states]) for f in (np.min, np.max))
    low, high = low.min(axis=0), high.max(axis=0)
    scale = bins / np.where(high > low, high - low, 1.0)
    cells = []
    for k in range(data.dimension):
        places = np.concatenate([s[:, k] for s in data.states])
        cells.append(np.minimum(((places - low[k]) * scale[k]).astype(np.int32), bins - 1))
    return cells


def _numbered(cells: list[np.ndarray]) -> np.ndarray:
    """One number a visited cell: bins^D would leave the integers."""
    number, size = np.zeros(len(cells[0]), np.int64), 1
    for coordinate in cells:
        bins = int(coordinate.max()) + 1
        kept, number = _unique(number * bins + coordinate, size * bins)
        size = len(kept)
    return number


def _unique(values: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """The values that occur, and the place of each among them; by a table where `limit` allows."""
    if limit > LARGEST_TABLE:
        seen, place = np.unique(values, return_inverse=True)
        return seen, place.reshape(-1)
    occurs = np.zeros(limit, bool)
    occurs[values] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


def _groups(paths: int, kinds: int) -> int:
    """An even number of groups, as many as memory allows."""
    most = max(FEWEST_GROUPS, min(MOST_GROUPS, LARGEST_TABLE // kinds))
    return max(2, min(paths, most) // 2 * 2)


def count_entropy_production(
    data: Trajectories, bins: int | None = None, *, resamples: int = 20, seed: int = 0
) -> CountedEntropyProduction:
    """(1/dt) < ln P(i -> j) / P(j -> i) > over the observed transitions, the paper's estimator.

    The range of every coordinate is cut into `bins` equal bins; by default into as many, up to 40, as leave
    fewer than 2 % of the transitions without a reverse. A transition whose reverse was never seen gets a
    tenth of the smallest reverse probability. The value depends on that factor, on the bins and on the
    amount of data: read it beside its `null`. The error bar is a bootstrap over trajectories and does
    not hold that bias.

    Args:
        data: The trajectories.
        bins: A coordinate's; None chooses.
        resamples: Of the bootstrap and of the null.
        seed: Of both.
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Use uidd.Trajectories.from_arrays(x, dt=...).")
    whole_number("resamples", resamples, least=2)
    data = data if len(data) >= FEWEST_GROUPS else data.in_blocks(FEWEST_GROUPS)
    if bins is not None:
        bins = whole_number("bins", bins, least=2)
        return _counted(_Moves.of(data, bins), bins, resamples, seed)
    found: list[CountedEntropyProduction] = []
    for bins in LADDER:
        counted = _counted(_Moves.of(data, bins), bins, resamples, seed)
        if found and counted.unpaired_share > MOST_UNPAIRED:
            break
        found.append(counted)
    excesses = [counted.excess for counted in found[-3:]]
    return replace(found[-1], bins_spread=_deviation(excesses))


def _counted(moves: _Moves, bins: int, resamples: int, seed: int) -> CountedEntropyProduction:
    rate, unpaired = moves.rate(moves.counts.sum(axis=0))
    generator = np.random.default_rng(seed)
    spread = [moves.resampled(generator) for _ in range(resamples)]
    null = [moves.turned(generator) for _ in range(resamples)]
    counted = CountedEntropyProduction(
        rate=rate,
        standard_error=_deviation(spread),
        bins=bins,
        transitions=moves.total,
        unpaired_share=unpaired,
        null=float(np.mean(null)),
        null_spread=_deviation(null),
    )
    return replace(counted, result=_judged(counted))


def _judged(counted: CountedEntropyProduction) -> Result:
    if counted.transitions < 100:
        return Result("not_judged", f"{counted.transitions} transitions are too few to count.")
    if counted.unpaired_share > 0.1:
        return Result(
            "unpaired",
            f"{counted.unpaired_share:.0%} of the transitions were never seen in reverse and count by "
            "convention; use fewer bins or more data.",
        )
    if counted.rate < counted.null + 3 * np.hypot(counted.null_spread, counted.standard_error):
        return Result(
            "like_null",
            f"Reversible data of the same size give {counted.null:.3g}: the two cannot be told apart.",
        )
    return Result()


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
