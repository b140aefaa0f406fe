"""Entropy production by counting transitions between bins, without a model."""

from dataclasses import dataclass

import numpy as np

from .._checks import fail, whole_number
from .._types import Result
from ..data import Trajectories
from .records import Estimate


@dataclass(frozen=True)
class CountedEntropyProduction(Estimate):
    """A counting estimate, with what is needed to judge it.

    Attributes:
        bins: A coordinate's.
        transitions: How many were counted.
        unpaired_share: Of them, those never seen in reverse.
        null: What the same estimator gives when every trajectory is turned round with probability one
            half: reversible data of the same size and correlation. A rate near it says nothing.
        null_spread: The standard deviation of that.
    """

    bins: int = 0
    transitions: int = 0
    unpaired_share: float = 0.0
    null: float = 0.0
    null_spread: float = 0.0


@dataclass(frozen=True)
class _Moves:
    """Transitions between visited cells: kind k goes from a cell to a cell, and kind reverse[k] back."""

    kind: np.ndarray
    reverse: np.ndarray
    owner: np.ndarray
    step: float

    @classmethod
    def of(cls, data: Trajectories, bins: int) -> "_Moves":
        states = np.concatenate(data.states)
        low, high = states.min(axis=0), states.max(axis=0)
        cells = np.minimum(((states - low) / (high - low) * bins).astype(np.int64), bins - 1)
        visited = np.zeros(len(cells), np.int64)
        for coordinate in cells.T:  # numbers of visited cells only: bins^D would leave the integers
            visited = np.unique(visited * bins + coordinate, return_inverse=True)[1].reshape(-1)
        lengths = np.array([len(s) for s in data.states])
        inside = np.ones(len(visited) - 1, bool)
        inside[np.cumsum(lengths)[:-1] - 1] = False  # no transition from one trajectory to the next
        source, target, size = visited[:-1][inside], visited[1:][inside], int(visited.max()) + 1
        seen, kind = np.unique(source * size + target, return_inverse=True)
        turned = seen % size * size + seen // size
        kinds = np.concatenate([seen, np.setdiff1d(turned, seen)])  # every kind has its reverse
        order = np.argsort(kinds)
        reverse = order[np.searchsorted(kinds, kinds % size * size + kinds // size, sorter=order)]
        return cls(
            kind=kind.reshape(-1),
            reverse=reverse,
            owner=np.repeat(np.arange(len(lengths)), lengths - 1),
            step=float(np.mean(np.concatenate([np.diff(t) for t in data.times]))),
        )

    def rate(self, *, weight: np.ndarray, turned: np.ndarray) -> tuple[float, float]:
        """The estimate and the share of unpaired transitions, with trajectories weighted and turned round."""
        kind = np.where(turned[self.owner], self.reverse[self.kind], self.kind)
        counts = np.bincount(kind, weight[self.owner], len(self.reverse))
        seen = counts > 0
        forward, backward = counts[seen], counts[self.reverse][seen]
        paired = backward > 0
        ratio = np.log(forward / np.where(paired, backward, forward.min() / 10))
        total = forward.sum()
        return float(forward @ ratio / total / self.step), float(forward[~paired].sum() / total)


def count_entropy_production(
    data: Trajectories, bins: int, *, resamples: int = 20, seed: int = 0
) -> CountedEntropyProduction:
    """(1/dt) < ln P(i -> j) / P(j -> i) > over the observed transitions, the paper's estimator.

    The range of every coordinate is cut into `bins` equal bins. A transition whose reverse was
    never seen gets a tenth of the smallest reverse probability. The value depends on that factor, on
    the bins and on the amount of data: read it beside its `null`. The error bar is a bootstrap over
    trajectories and does not hold that bias.
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Use uidd.Trajectories.from_arrays(x, dt=...).")
    bins = whole_number("bins", bins, least=2)
    whole_number("resamples", resamples, least=2)
    data = data if len(data) >= 20 else data.in_blocks(20)
    moves, paths = _Moves.of(data, bins), len(data)
    once, ahead = np.ones(paths), np.zeros(paths, bool)
    rate, unpaired = moves.rate(weight=once, turned=ahead)
    generator = np.random.default_rng(seed)
    spread, null = [], []
    for _ in range(resamples):
        drawn = np.bincount(generator.integers(paths, size=paths), minlength=paths)
        spread.append(moves.rate(weight=drawn, turned=ahead)[0])
        null.append(moves.rate(weight=once, turned=generator.random(paths) < 0.5)[0])
    counted = CountedEntropyProduction(
        rate=rate,
        standard_error=_deviation(spread),
        bins=bins,
        transitions=len(moves.kind),
        unpaired_share=unpaired,
        null=float(np.mean(null)) if null else float("nan"),
        null_spread=_deviation(null),
    )
    return CountedEntropyProduction(**{**vars(counted), "result": _judged(counted)})


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
