"""Least squares on a CPU: whole chains in one compiled loop, in place of an array operation per iteration."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .generator import generator, words


@dataclass(frozen=True)
class LeastSquaresChains:
    """z' = z - q mean of (a_i . z - v_i) a_i over a batch + deviation * xi.

    Attributes:
        A: a_i, `(n, D)`.
        v: v_i, `(n,)`.
        q: The step times the scale.
        deviation: Of the noise of one iteration.
        batch_size: b; None for all data.
        replacement: Whether a datum can be in a batch twice.
    """

    A: np.ndarray
    v: np.ndarray
    q: float
    deviation: float
    batch_size: int | None
    replacement: bool

    def move(self, starts: Any, first: int, seed: int, every: int, *kept: np.ndarray) -> None:
        """Chains first, first + 1, ... from their starts; states, steps and last states go into `kept`.

        A chain makes z' = z - w sum_{i in rows} (a_i . z - v_i) a_i - h (H z - c) + noise, where
        H = A^T A / n and c = A^T v / n. All data are h = q, and a batch is w = q / b. If more than half of
        the data are in a batch without replacement, the rows are the others: w = -q / b and h = q n / b.
        """
        A, v = (np.asarray(part, np.float64) for part in (self.A, self.v))
        n, b, q = len(A), self.batch_size, self.q
        if b is None:
            rows, w, h = 0, 0.0, q
        elif self.replacement or 2 * b <= n:
            rows, w, h = b, q / b, 0.0
        else:
            rows, w, h = n - b, -q / b, q * n / b
        single = (
            np.ascontiguousarray(part, np.float32) for part in (A, v, _padded(A).T, A.T @ A / n, A.T @ v / n)
        )
        _kernel(distinct=rows > 0 and not self.replacement, many=3 * rows > n)(
            *single,
            *(np.float32(number) for number in (w, h, self.deviation)),
            rows,
            np.array(starts, order="C"),  # numba compiles again for arrays that are read only or strided
            words(seed, first, len(starts)),
            every,
            *kept,
        )


def _padded(A: np.ndarray) -> np.ndarray:
    """Zero columns up to a multiple of four, which the kernel takes at once."""
    return np.pad(A, ((0, 0), (0, -A.shape[1] % 4)))


@cache
def _kernel(*, distinct: bool, many: bool) -> Any:
    import numba

    begin, below, normal = generator()
    # Sums may be reordered, but what is not finite stays so: it tells of chains that diverged.
    fast = {"reassoc", "contract", "nsz", "arcp"}

    # One function with all loops written out: as functions of their own they are three times slower.
    @numba.njit(fastmath=fast)
    def chain(A, v, columns, H, c, w, h, noise, rows, begun, seeds, every, start, increment, last):
        (n, D), P = A.shape, len(columns)
        state = begin(seeds)
        z = np.zeros(P, np.float32)
        for d in range(D):
            z[d] = begun[d]
        change = np.zeros(P, np.float32)
        order, weights, residuals = np.arange(n), np.empty(n, np.float32), np.empty(n, np.float32)
        for k in range(len(start)):
            for turn in range(every):
                for d in range(D):
                    xi, state = normal(state)
                    change[d] = noise * xi
                if h > 0:
                    for d in range(D):
                        force = c[d]
                        for e in range(D):
                            force -= H[d, e] * z[e]
                        change[d] += h * force
                if many:
                    for i in range(n):
                        weights[i] = 0
                for j in range(rows):
                    if distinct:  # the first `rows` places of a shuffle, which may go on from the last one
                        other, state = below(n - j, state)
                        i = order[j + other]
                        order[j + other] = order[j]
                        order[j] = i
                    else:
                        i, state = below(n, state)
                    if many:
                        weights[i] += w
                    else:
                        residual = -v[i]
                        for d in range(D):
                            residual += A[i, d] * z[d]
                        residual *= w
                        for d in range(D):
                            change[d] -= residual * A[i, d]
                if many:  # residuals of all rows, then their sum: along the columns, four at a time
                    for i in range(n):
                        residuals[i] = -v[i]
                    for d in range(0, P, 4):
                        z0, z1, z2, z3 = z[d], z[d + 1], z[d + 2], z[d + 3]
                        for i in range(n):
                            residuals[i] += (
                                columns[d, i] * z0
                                + columns[d + 1, i] * z1
                                + columns[d + 2, i] * z2
                                + columns[d + 3, i] * z3
                            )
                    for i in range(n):
                        residuals[i] *= weights[i]
                    for d in range(0, P, 4):
                        s0 = s1 = s2 = s3 = np.float32(0)
                        for i in range(n):
                            residual = residuals[i]
                            s0 += residual * columns[d, i]
                            s1 += residual * columns[d + 1, i]
                            s2 += residual * columns[d + 2, i]
                            s3 += residual * columns[d + 3, i]
                        change[d] -= s0
                        change[d + 1] -= s1
                        change[d + 2] -= s2
                        change[d + 3] -= s3
                if turn == 0:
                    for d in range(D):
                        start[k, d] = z[d]
                        increment[k, d] = change[d]
                for d in range(D):
                    z[d] += change[d]
        for d in range(D):
            last[d] = z[d]

    @numba.njit(parallel=True, cache=False)
    def chains(A, v, columns, H, c, w, h, noise, rows, begun, seeds, every, start, increment, last):
        for m in numba.prange(len(begun)):
            chain(
                A, v, columns, H, c, w, h, noise, rows,
                begun[m], seeds[m], every, start[m], increment[m], last[m],
            )  # fmt: skip

    return chains
