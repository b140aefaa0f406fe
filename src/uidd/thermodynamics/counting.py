"""Entropy production by counting transitions between bins, without a model."""

from dataclasses import dataclass

import numpy as np

from .._checks import whole_number
from .._types import Result
from ..data import Trajectories
from .records import Estimate


@dataclass(frozen=True)
class CountedEntropyProduction(Estimate):
    """A counting estimate, with what is needed to judge it."""

    bins: int = 0
    transitions: int = 0
    unpaired_share: float = 0.0


def count_entropy_production(
    data: Trajectories, bins: int, *, resamples: int = 20, seed: int = 0
) -> CountedEntropyProduction:
    """(1/dt) < ln P(i -> j) / P(j -> i) > over the observed transitions, the paper's estimator.

    The range of every coordinate is cut into `bins` equal bins. A transition whose reverse was
    never seen gets a tenth of the smallest reverse probability. The value depends on that factor, on
    the bins and on the amount of data; `unpaired_share` says for how many transitions. The error bar
    is a bootstrap over trajectories and does not hold that bias.
    """
    bins = whole_number("bins", bins, least=2)
    if len(data) < 20:
        data = data.in_blocks(20)
    states = np.concatenate(data.states)
    low, high = states.min(axis=0), states.max(axis=0)
    cells = np.minimum(((states - low) / (high - low) * bins).astype(np.int64), bins - 1)
    visited = np.zeros(len(cells), np.int64)
    for coordinate in cells.T:  # numbers of visited cells only: bins^D would leave the integers
        visited = np.unique(visited * bins + coordinate, return_inverse=True)[1].reshape(-1)
    codes, owners = [], []
    for k, index in enumerate(np.split(visited, np.cumsum([len(s) for s in data.states])[:-1])):
        codes.append(np.stack([index[:-1], index[1:]], axis=1))
        owners.append(np.full(len(index) - 1, k))
    transitions, owner = np.concatenate(codes), np.concatenate(owners)
    pairs, inverse = np.unique(transitions, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    reverse = _index_of(pairs[:, ::-1], pairs)
    step = float(np.mean(np.concatenate([np.diff(t) for t in data.times])))

    counts = np.bincount(inverse, minlength=len(pairs))
    rate, unpaired = _rate(counts, reverse, step)
    generator = np.random.default_rng(seed)
    spread = []
    for _ in range(resamples):
        drawn = np.bincount(generator.integers(len(data), size=len(data)), minlength=len(data))
        spread.append(_rate(np.bincount(inverse, drawn[owner], len(pairs)), reverse, step)[0])
    error = float(np.std(spread, ddof=1)) if resamples > 1 else float("nan")
    result = Result()
    if unpaired > 0.1:
        result = Result(
            "unpaired",
            f"{unpaired:.0%} of the transitions were never seen in reverse and count by convention; use fewer bins or more data.",
        )
    return CountedEntropyProduction(rate, error, result, bins, len(transitions), unpaired)


def _index_of(wanted: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The row of `pairs` (sorted) that holds each wanted pair, or -1."""
    base = int(pairs.max()) + 1
    keys, sought = pairs @ np.array([base, 1]), wanted @ np.array([base, 1])
    position = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[position] == sought, position, -1)


def _rate(counts: np.ndarray, reverse: np.ndarray, step: float) -> tuple[float, float]:
    """The estimate and the share of transitions without an observed reverse."""
    seen = counts > 0
    backward = np.where(reverse >= 0, counts[reverse], 0)[seen]
    forward = counts[seen]
    paired = backward > 0
    floor = forward.min() / 10
    ratio = np.log(forward / np.where(paired, backward, floor))
    total = forward.sum()
    return float(forward @ ratio / total / step), float(forward[~paired].sum() / total)
