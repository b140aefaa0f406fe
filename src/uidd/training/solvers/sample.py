"""Pairs of the data: all, or a part that is drawn at random or evenly over space."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree
from threadpoolctl import ThreadpoolController

from ...data import Transitions

T = TypeVar("T")
# Pairs of one call. One size: compiled once for all data.
SEGMENT = 8192
# Segments that are passed at once, and threads that look for neighbours.
AT_ONCE = 2
# Pairs spread evenly are chosen among so many times their number, by the distance to one of the next of some.
SPREAD_OVER, REFERENCES, NEIGHBOUR = 8, 1024, 4


@dataclass(frozen=True)
class Sample:
    """Pairs in unit-size coordinates, and the block that each belongs to.

    Blocks are what the bootstrap draws: trajectories, or stretches of one.
    """

    pairs: Transitions
    block: np.ndarray
    blocks: int

    def __len__(self) -> int:
        return len(self.block)

    def some(self, count: int, generator: np.random.Generator) -> "Sample":
        """At most `count` of them, at random."""
        if count >= len(self):
            return self
        return self.at(generator.choice(len(self), count, replace=False))

    def evenly(self, count: int, generator: np.random.Generator) -> tuple["Sample", np.ndarray]:
        """About `count` of them, half at random and half evenly over space, and how many each stands for.

        Every pair is taken or not by itself, with probability q, and stands for 1 / q, so that sums over all
        pairs are met on average (Horvitz and Thompson). Where the data thin out a random part of them is next
        to none.
        """
        some = self.some(SPREAD_OVER * count, generator)
        if count >= len(some):
            return some, np.ones(len(some))
        # Evenly over space: with a probability of one over the density, from the distance to a neighbour.
        start = some.pairs.start
        known = start[generator.choice(len(start), min(REFERENCES, len(start)), replace=False)]
        reach = KDTree(known).query(start, k=NEIGHBOUR, workers=AT_ONCE)[0][:, -1]
        weight = (reach / reach.max()) ** start.shape[1]
        q = np.minimum(1.0, count / 2 * (1 / len(start) + weight / weight.sum()))
        chosen = np.flatnonzero(generator.random(len(start)) < q)
        return some.at(chosen), len(self) / len(some) / q[chosen]

    def at(self, index: np.ndarray) -> "Sample":
        """Some pairs, in their order."""
        return self.taken(np.sort(index))

    def taken(self, index: np.ndarray) -> "Sample":
        """Some pairs, in the order of `index`."""
        return Sample(Transitions(*(part[index] for part in self.pairs)), self.block[index], self.blocks)

    def joined(self, other: "Sample") -> "Sample":
        """These and others, of the same blocks."""
        parts = (np.concatenate(both) for both in zip(self.pairs, other.pairs, strict=True))
        return Sample(Transitions(*parts), np.concatenate([self.block, other.block]), self.blocks)

    def segments(self, size: int = SEGMENT):
        """Segments on the device, filled up to full length, and which pairs they begin with."""
        for first in range(0, len(self), size):
            index = np.minimum(np.arange(first, first + size), len(self) - 1)
            arrays = tuple(jnp.asarray(part[index], jnp.result_type(float)) for part in self.pairs)
            yield arrays, slice(first, min(first + size, len(self)))

    def each(self, function: Callable[..., T], size: int = SEGMENT) -> Iterator[T]:
        """`function(arrays, which)` of every segment in turn, some at once.

        A program's loop over a segment leaves cores idle for a third of the time. NumPy's products meanwhile
        keep to a thread each: with more threads than cores they would wait for one another.
        """
        double = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]

        def one(segment) -> T:
            with jax.enable_x64(double):  # a setting of the caller's thread
                return function(*segment)

        with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(AT_ONCE) as pool:
            yield from pool.map(one, self.segments(size))


@cache
def _blas() -> ThreadpoolController:
    """The libraries that NumPy and SciPy multiply with."""
    return ThreadpoolController()
