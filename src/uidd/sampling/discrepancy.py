"""How far apart two sets of draws are, without a density of either."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail, numbers, positive
from .._programs import compiled

# Points a side of the part of the kernel's matrix that is held: what a cache holds, or what fills a device.
TILE, TILE_ON_ACCELERATOR = 1024, 8192


@dataclass(frozen=True)
class Discrepancy:
    """An estimate of MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y), which is zero for equal densities alone.

    Attributes:
        unbiased: Without the pairs of a point and itself; of mean MMD^2, and sometimes below zero.
        standard_error: Of `unbiased`, for independent draws, whether or not the densities are equal. NaN with
            fewer than four points.
        error_if_equal: What it would be for equal densities: `unbiased` over this tests for that, where the
            other error is large whenever `unbiased` is, the more so the wider the kernel.
        biased: With those pairs: at least zero, and for equal densities (1/n + 1/m)(1 - E k) on average.
    """

    unbiased: float
    standard_error: float
    error_if_equal: float
    biased: float


def maximum_mean_discrepancy(x: Any, y: Any, *, gamma: float = 1.0) -> Discrepancy:
    """MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y) with k = exp(-gamma |x - y|^2), from independent draws.

    The variance is that of Hoeffding's decomposition, every term estimated without bias: with the witness
    w(z) = E k(z, x') - E k(z, y') and k~ the kernel less its means over either argument,

        4 Var w(x) / n + 4 Var w(y) / m
            + 2 E k~(x, x')^2 / n (n - 1) + 2 E k~(y, y')^2 / m (m - 1) + 4 E k~(x, y)^2 / n m.

    The first line vanishes for equal densities, the second is then all there is. Correlated draws have a
    larger error than this; thin them first. In double precision; 20,000 points each take some seconds.

    Args:
        x: Draws `(n, D)` from one density.
        y: Draws `(m, D)` from the other.
        gamma: One over twice the square of the kernel's width.

    >>> draws = np.random.default_rng(0).normal(size=(2, 500, 3))
    >>> found = maximum_mean_discrepancy(draws[0], draws[1] + 1.0)
    >>> found.unbiased > 5 * found.standard_error
    True
    """
    x, y = _points("x", x), _points("y", y)
    if x.shape[1] != y.shape[1]:
        fail("y", f"points of {x.shape[1]} coordinates, as `x`", f"shape {y.shape}")
    scale, middle = positive("gamma", gamma) ** 0.5, (x.mean(axis=0) + y.mean(axis=0)) / 2
    x, y = scale * (x - middle), scale * (y - middle)
    (xx, _, xx2), (yy, _, yy2), (xy, yx, xy2) = _sums(x, x), _sums(y, y), _sums(x, y)
    n, m = len(x), len(y)
    cross = 2 * xy.sum() / (n * m)
    unbiased = xx.sum() / (n * (n - 1)) + yy.sum() / (m * (m - 1)) - cross
    biased = (xx.sum() + n) / n**2 + (yy.sum() + m) / m**2 - cross
    first, second = _variance(xx, yy, xy, yx, (xx2, yy2, xy2))
    return Discrepancy(
        unbiased=float(unbiased),
        standard_error=(first + second) ** 0.5,
        error_if_equal=second**0.5,
        biased=max(float(biased), 0.0),
    )


def _variance(
    xx: np.ndarray, yy: np.ndarray, xy: np.ndarray, yx: np.ndarray, squares: tuple[float, float, float]
) -> tuple[float, float]:
    """Both lines of the variance, from the sums of k over rows and of k^2."""
    n, m = len(xx), len(yy)
    if min(n, m) < 4:
        return float("nan"), float("nan")
    kxx, kyy, kxy = _centred(xx, squares[0]), _centred(yy, squares[1]), _cross_centred(xy, yx, squares[2])
    # What a row's mean adds to the spread of the witness is taken off again. Over n - 2, because x_i itself
    # is missing from its own row: the part of the witness that belongs to x_i then has the factor one.
    wx = np.var(xx / (n - 2) - xy / m, ddof=1) - kxx / (n - 2) - kxy / m
    wy = np.var(yy / (m - 2) - yx / n, ddof=1) - kyy / (m - 2) - kxy / n
    second = 2 * kxx / (n * (n - 1)) + 2 * kyy / (m * (m - 1)) + 4 * kxy / (n * m)
    return max(float(4 * wx / n + 4 * wy / m), 0.0), max(second, 0.0)


def _points(name: str, value: Any) -> np.ndarray:
    must = "at least two finite points, of shape (n, D)"
    points = numbers(name, value, must)
    if points.ndim != 2 or len(points) < 2 or not points.shape[1]:
        fail(name, must, f"shape {points.shape}")
    if not np.isfinite(points).all():
        fail(name, must, f"{int((~np.isfinite(points).all(axis=1)).sum())} that are not finite")
    return points


def _centred(rows: np.ndarray, squares: float) -> float:
    """E k~(x, x')^2 from the sums of k over a row and of k^2, the diagonal left out; without bias."""
    n = len(rows)
    total = squares - 2 * np.sum(rows**2) / (n - 2) + rows.sum() ** 2 / ((n - 1) * (n - 2))
    return float(total / (n * (n - 3)))


def _cross_centred(rows: np.ndarray, columns: np.ndarray, squares: float) -> float:
    """E k~(x, y)^2, the interaction in a table of n by m."""
    n, m = len(rows), len(columns)
    total = squares - np.sum(rows**2) / m - np.sum(columns**2) / n + rows.sum() ** 2 / (n * m)
    return float(total / ((n - 1) * (m - 1)))


def _sums(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Sums of k(x_i, y_j) over rows, over columns, and of k^2 over all; without i = j where x is y."""
    rows, columns, squares = np.zeros(len(x)), np.zeros(len(y)), 0.0
    with jax.enable_x64(True):
        across, down = _tiles(x), _tiles(y)
        for i, (here, left) in enumerate(across):
            for j, (there, right) in enumerate(down):
                if x is y and j < i:  # the mirror image of a tile that was counted
                    continue
                found = _tile(left, right, x is y and i == j)
                rows[here] += np.asarray(found[0])[: len(rows[here])]
                columns[there] += np.asarray(found[1])[: len(columns[there])]
                squares += float(found[2]) * (2 if x is y and i < j else 1)
                if x is y and i < j:
                    rows[there] += np.asarray(found[1])[: len(rows[there])]
    return rows, columns, squares


def _tiles(points: np.ndarray) -> list[tuple[slice, tuple[jax.Array, jax.Array]]]:
    """Stretches of the points, all of one length, with weight zero for what fills up the last."""
    most = TILE if jax.default_backend() == "cpu" else TILE_ON_ACCELERATOR
    length = min(most, 1 << (len(points) - 1).bit_length())  # few lengths, so that little is compiled
    found = []
    for first in range(0, len(points), length):
        part = points[first : first + length]
        lacking = length - len(part)
        weights = np.pad(np.ones(len(part)), (0, lacking))
        filled = np.pad(part, ((0, lacking), (0, 0)))
        found.append((slice(first, first + length), (jnp.asarray(filled), jnp.asarray(weights))))
    return found


@compiled
def _tile(left, right, diagonal):
    (x, p), (y, q) = left, right
    squared = jnp.sum(x**2, axis=1)[:, None] + jnp.sum(y**2, axis=1) - 2 * x @ y.T
    k = jnp.exp(-jnp.maximum(squared, 0.0))
    if diagonal:
        k = jnp.where(jnp.eye(len(x), dtype=bool), 0.0, k)
    # Sums as products, which are twice as fast here.
    return p * (k @ q), q * (p @ k), p @ (k**2 @ q)
