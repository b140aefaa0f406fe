"""Entropy production by counting transitions between bins, without a model."""

from dataclasses import dataclass

import numpy as np

from .._checks import whole_number
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
        null: What the same estimator gives for the same transitions, each turned round with probability
            one half: reversible data of the same size. A rate near it says nothing.
        null_spread: The standard deviation of that.
    """

    bins: int = 0
    transitions: int = 0
    unpaired_share: float = 0.0
    null: float = 0.0
    null_spread: float = 0.0


@dataclass(frozen=True)
class _Counts:
    """Transitions between visited cells: kind k goes from cell to cell, and kind reverse[k] back (-1: never seen)."""

    kind: np.ndarray
    reverse: np.ndarray
    owner: np.ndarray
    step: float

    @classmethod
    def of(cls, data: Trajectories, bins: int) -> "_Counts":
        states = np.concatenate(data.states)
        low, high = states.min(axis=0), states.max(axis=0)
        cells = np.minimum(((states - low) / (high - low) * bins).astype(np.int64), bins - 1)
        visited = np.zeros(len(cells), np.int64)
        for coordinate in cells.T:  # numbers of visited cells only: bins^D would leave the integers
            visited = np.unique(visited * bins + coordinate, return_inverse=True)[1].reshape(-1)
        lengths = np.array([len(s) for s in data.states])
        inside = np.ones(len(visited) - 1, bool)
        inside[np.cumsum(lengths)[:-1] - 1] = False  # no transition from one trajectory to the next
        source, target = visited[:-1][inside], visited[1:][inside]
        size = int(visited.max()) + 1
        keys, kind = np.unique(source * size + target, return_inverse=True)
        sought = keys % size * size + keys // size
        place = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        return cls(
            kind=kind.reshape(-1),
            reverse=np.where(keys[place] == sought, place, -1),
            owner=np.repeat(np.arange(len(lengths)), lengths - 1),
            step=float(np.mean(np.concatenate([np.diff(t) for t in data.times]))),
        )


def count_entropy_production(
    data: Trajectories, bins: int, *, resamples: int = 20, seed: int = 0
) -> CountedEntropyProduction:
    """(1/dt) < ln P(i -> j) / P(j -> i) > over the observed transitions, the paper's estimator.

    The range of every coordinate is cut into `bins` equal bins. A transition whose reverse was
    never seen gets a tenth of the smallest reverse probability. The value depends on that factor, on
    the bins and on the amount of data: read it beside its `null`. The error bar is a bootstrap over
    trajectories and does not hold that bias.
    """
    bins = whole_number("bins", bins, least=2)
    data = data if len(data) >= 20 else data.in_blocks(20)
    counts = _Counts.of(data, bins)
    forward = np.bincount(counts.kind, minlength=len(counts.reverse))
    backward = np.where(counts.reverse >= 0, forward[counts.reverse], 0)
    rate, unpaired = _rate(forward, backward, counts.step)

    generator = np.random.default_rng(seed)
    spread, null = [], []
    for _ in range(resamples):
        weight = np.bincount(generator.integers(len(data), size=len(data)), minlength=len(data))
        drawn = np.bincount(counts.kind, weight[counts.owner], len(forward))
        spread.append(_rate(drawn, np.where(counts.reverse >= 0, drawn[counts.reverse], 0), counts.step)[0])
        null.append(_rate(*_turned_round(forward, backward, counts.reverse, generator), counts.step)[0])
    counted = CountedEntropyProduction(
        rate=rate,
        standard_error=_deviation(spread),
        bins=bins,
        transitions=len(counts.kind),
        unpaired_share=unpaired,
        null=float(np.mean(null)) if null else float("nan"),
        null_spread=_deviation(null),
    )
    return CountedEntropyProduction(**{**vars(counted), "result": _judged(counted)})


def _rate(forward: np.ndarray, backward: np.ndarray, step: float) -> tuple[float, float]:
    """The estimate, and the share of transitions without an observed reverse."""
    seen = forward > 0
    forward, backward = forward[seen], backward[seen]
    paired = backward > 0
    floor = forward.min() / 10
    ratio = np.log(forward / np.where(paired, backward, floor))
    total = forward.sum()
    return float(forward @ ratio / total / step), float(forward[~paired].sum() / total)


def _turned_round(
    forward: np.ndarray, backward: np.ndarray, reverse: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Counts in both directions after every transition was turned round with probability one half."""
    kinds = np.arange(len(forward))
    once = (reverse < 0) | (kinds <= reverse)  # one of the two kinds of every pair
    total = np.where(reverse == kinds, forward, forward + backward)[once]
    ahead = generator.binomial(total, 0.5)
    stays = (reverse == kinds)[once]
    moved, still = np.stack([ahead, total - ahead])[:, ~stays], total[stays]
    return np.concatenate([*moved, still]), np.concatenate([*moved[::-1], still])


def _judged(counted: CountedEntropyProduction) -> Result:
    if counted.unpaired_share > 0.1:
        return Result(
            "unpaired",
            f"{counted.unpaired_share:.0%} of the transitions were never seen in reverse and count by "
            "convention; use fewer bins or more data.",
        )
    if counted.rate < counted.null + 3 * np.hypot(counted.null_spread, counted.standard_error):
        return Result(
            "like_null", f"Reversible data of the same size give {counted.null:.3g}: the two cannot be told apart."
        )
    return Result()


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
