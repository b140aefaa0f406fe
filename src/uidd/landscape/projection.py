"""A potential of many coordinates, seen over one or two of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.spatial import KDTree
from scipy.special import gammaln
from scipy.stats import chi2, norm, qmc

from .._checks import fail, one_of, whole_number
from .._types import Result
from .records import Projection
from .stationary import lowered, newton_steps, typical_size
from .surface import Local, Surface, center_of, states_from

BINS = 60
NEAREST, STARTS = 32, 4
MOST_STEPS = 60
POINTS = 512
TAILS = 5
# Below this share of effective points an integral is not believed.
LEAST_EFFECTIVE = 0.05


def project(
    potential: Any,
    axes: int | Sequence[int],
    how: str = "min",
    *,
    states: Any = None,
    bins: int = BINS,
) -> Projection:
    """V over one or two coordinates: its minimum over the others, or -log of the integral of e^-V over them.

    Only where states are: a grid point is supported if one of them lies in its bin or in the next one.
    At every such point V is minimised over the other coordinates, from four of the nearest states
    that differ most. For
    `marginal` the minima that were found there guide an integration by importance sampling, the same 512
    points of a multivariate t at every place.

    Args:
        potential: Any function z -> float; a model, an ensemble or a fit stand for theirs.
        axes: One coordinate or two, by number from 0.
        how: `min` or `marginal`.
        states: States `(n, D)` that say where the potential is known, data or stationary draws; a model
            brings some of its own, which are few.
        bins: Grid points a coordinate.

    >>> states = [[-0.5, -0.5], [0.0, 0.0], [0.5, 0.5]]
    >>> found = project(lambda z: z[0] ** 2 + (z[1] - z[0]) ** 2, 0, states=states, bins=5)
    >>> (found.values - found.grid[0] ** 2).round(9).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    function, _, own = center_of(potential)
    if states is None and own is None:
        fail("states", "given for a plain function", "none", "Give states of shape (n, D), data points say.")
    known = states_from("states", own if states is None else states)
    chosen = _axes(axes, known.shape[1])
    one_of("how", how, ("min", "marginal"))
    bins = whole_number("bins", bins, least=2)
    surface = Surface.around(function, known)
    places = surface.inward(known)
    grid = tuple(np.linspace(places[:, k].min(), places[:, k].max(), bins) for k in chosen)
    supported = _supported(places[:, chosen], grid)
    points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)[supported]
    free = [k for k in range(known.shape[1]) if k not in chosen]
    values, errors = np.full(supported.shape, np.nan), np.zeros(supported.shape)
    result = Result()
    if not free:
        values[supported] = surface.energies(points[:, np.argsort(chosen)])
    else:
        y, energy, hessian = _minimised(surface, places, points, chosen, free)
        if how == "min":
            values[supported] = energy.min(axis=1)
        else:
            integral, error, share = _integrated(surface, y, energy, hessian, free)
            poor = share < LEAST_EFFECTIVE
            values[supported], errors[supported] = np.where(poor, np.nan, integral), error
            if poor.any():
                words = f"At {poor.mean():.0%} of the points the integral could not be taken."
                result = Result("poor_integral", words)
    outward = tuple(surface.center[k] + surface.spread[k] * g for k, g in zip(chosen, grid, strict=True))
    return Projection(tuple(chosen), outward, values, supported, how, errors, result)


def _axes(axes: int | Sequence[int], dimension: int) -> list[int]:
    given = [axes] if isinstance(axes, int | np.integer) else list(axes)
    whole = all(isinstance(k, int | np.integer) and 0 <= k < dimension for k in given)
    if len(given) not in (1, 2) or not whole or len(set(given)) != len(given):
        fail("axes", f"one or two different coordinates from 0 to {dimension - 1}", repr(axes))
    return [int(k) for k in given]


def _supported(places: np.ndarray, grid: tuple[np.ndarray, ...]) -> np.ndarray:
    """Grid points with a state in their bin or in a neighbouring one."""
    edges = [
        np.concatenate([[-np.inf], (g[1:] + g[:-1]) / 2, [np.inf]]) if len(g) > 1 else [-np.inf, np.inf]
        for g in grid
    ]
    index = tuple(np.searchsorted(edge, places[:, k]) - 1 for k, edge in enumerate(edges))
    counts = np.zeros([len(g) for g in grid], bool)
    counts[tuple(np.clip(i, 0, n - 1) for i, n in zip(index, counts.shape, strict=True))] = True
    return binary_dilation(counts, np.ones((3,) * counts.ndim, bool))


def _minimised(surface: Surface, places, points, chosen, free) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minima over the free coordinates, (points, starts, ...), with the energies and Hessians there."""
    y = _spread_out(surface, places, points, chosen, free)
    starts = y.shape[1]
    y = y.reshape(-1, places.shape[1])
    size = typical_size(surface.local(y[:: -(-len(y) // 256)]))
    going = np.ones(len(y), bool)
    for _ in range(MOST_STEPS):
        local = surface.local(y[going])
        inner = Local(local.energy, local.gradient[:, free], local.hessian[:, free][:, :, free])
        step = newton_steps(inner, size, descend=True)
        length = np.linalg.norm(step, axis=1)
        step *= np.minimum(1.0, 0.5 / np.maximum(length, 1e-300))[:, None]
        whole = np.zeros((len(step), y.shape[1]))
        whole[:, free] = step
        y[going] += lowered(surface, y[going], local.energy, whole)
        going[going] = length > 1e-7
        if not going.any():
            break
    local = surface.local(y)
    shape = (len(points), starts)
    inner = local.hessian[:, free][:, :, free]
    return (
        y.reshape(*shape, -1),
        np.where(np.isfinite(local.energy), local.energy, np.inf).reshape(shape),
        inner.reshape(*shape, len(free), len(free)),
    )


def _spread_out(surface: Surface, places, points, chosen, free) -> np.ndarray:
    """Starts (points, starts, D): of the nearest states the lowest, then such as are far from those taken."""
    near = min(NEAREST, len(places))
    index = KDTree(places[:, chosen]).query(points, k=near)[1].reshape(len(points), near)
    y = places[index]
    y[:, :, chosen] = points[:, None]
    energy = surface.energies(y.reshape(-1, y.shape[2])).reshape(len(points), near)
    row, apart = np.arange(len(points)), np.full((len(points), near), np.inf)
    taken = [np.argmin(np.where(np.isfinite(energy), energy, np.inf), axis=1)]
    for _ in range(min(STARTS, near) - 1):
        gap = y[:, :, free] - y[row, taken[-1]][:, None, free]
        apart = np.minimum(apart, np.linalg.norm(gap, axis=2))
        taken.append(np.argmax(apart, axis=1))
    return y[row[:, None], np.stack(taken, axis=1)]


def _integrated(surface: Surface, y, energy, hessian, free) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-log int e^-V, its standard error, and the share of effective points, at every place."""
    places, starts, count = len(y), y.shape[1], len(free)
    noise = _noise(count)
    values, vectors = np.linalg.eigh(np.nan_to_num(hessian))
    strength = np.maximum(values, 1e-3 * np.abs(values).max(axis=-1, keepdims=True) + 1e-12)
    roots = vectors / np.sqrt(strength)[..., None, :]
    # The proposal: a mixture over the minima that were found, one met twice being two equal parts of it.
    shares = -energy - np.log(strength).sum(axis=-1) / 2
    shares = np.exp(shares - np.logaddexp.reduce(shares, axis=1, keepdims=True))
    which = np.stack([np.searchsorted(np.cumsum(row)[:-1], _levels()) for row in shares])
    row = np.arange(places)[:, None]
    drawn = np.repeat(y[:, :1], POINTS, axis=1)
    drawn[:, :, free] = y[row, which][:, :, free] + np.einsum("npij,pj->npi", roots[row, which], noise)
    heights = surface.energies(drawn.reshape(-1, y.shape[2])).reshape(places, POINTS)
    logs = np.empty((places, POINTS, starts))
    for k in range(starts):
        back = np.einsum(
            "nji,npj->npi",
            vectors[:, k] * np.sqrt(strength[:, k])[:, None, :],
            drawn[:, :, free] - y[:, k][:, None, free],
        )
        logs[:, :, k] = (
            _log_t(back)
            + np.log(strength[:, k]).sum(axis=-1)[:, None] / 2
            + np.log(np.maximum(shares[:, k], 1e-300))[:, None]
        )
    weights = -np.where(np.isfinite(heights), heights, np.inf) - np.logaddexp.reduce(logs, axis=2)
    total = np.logaddexp.reduce(weights, axis=1)
    effective = np.exp(2 * total - np.logaddexp.reduce(2 * weights, axis=1))
    error = np.sqrt(np.maximum(1 / effective - 1 / POINTS, 0.0))
    scale = np.log(surface.spread[free]).sum()
    return -(total - np.log(POINTS)) - scale, error, effective / POINTS


def _log_t(x: np.ndarray) -> np.ndarray:
    """The log-density of the multivariate t that `_noise` follows."""
    dimension = x.shape[-1]
    constant = gammaln((TAILS + dimension) / 2) - gammaln(TAILS / 2) - dimension / 2 * np.log(TAILS * np.pi)
    return constant - (TAILS + dimension) / 2 * np.log1p(np.sum(x**2, axis=-1) / TAILS)


def _noise(dimension: int) -> np.ndarray:
    """Points of a t distribution, evenly spread by a Sobol sequence."""
    uniform = qmc.Sobol(dimension + 1, rng=0).random(POINTS)
    uniform = np.clip(uniform, 1e-9, 1 - 1e-9)
    return norm.ppf(uniform[:, :-1]) / np.sqrt(chi2.ppf(uniform[:, -1:], TAILS) / TAILS)


def _levels() -> np.ndarray:
    """Which start a point belongs to: levels in an order that the Sobol points know nothing of."""
    return np.random.default_rng(0).permutation((np.arange(POINTS) + 0.5) / POINTS)
