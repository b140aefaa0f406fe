"""What the maps of the page show: the model over a plane of two coordinates, or along a line."""

from dataclasses import dataclass
from itertools import combinations, islice

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from .._programs import compiled
from ..dynamics import AbstractDynamics
from ..thermodynamics import local_entropy_production

FINE = 110
COARSE = 17
PROJECTED_FINE = 45
PROJECTED_COARSE = 13
MOST_PAIRS = 6
MOST_EVALUATED = 50_000
BATCH = 2048
# Draws a bin must hold before its mean or its logarithm is shown.
LEAST_IN_BIN = 8
# How far, in nats, above the highest potential of nearly all draws the model is still believed.
ALLOWANCE = 1.0


@dataclass(frozen=True)
class FieldMaps:
    """V - V_min, f_rev, f_irr and s_tot over a plane; NaN where neither draws nor data support them.

    Attributes:
        axes: Which two coordinates span the plane.
        x: Fine positions along the first.
        y: Fine positions along the second.
        potential: V - V_min, (len(y), len(x)).
        local_entropy: s_tot, (len(y), len(x)).
        arrow_x: Coarse positions, where fields are given.
        arrow_y: Coarse positions.
        reversible: f_rev, (len(arrow_y), len(arrow_x), 2).
        irreversible: f_irr, (len(arrow_y), len(arrow_x), 2).
        projected: Whether these are marginals and means over the other coordinates.
    """

    axes: tuple[int, int]
    x: np.ndarray
    y: np.ndarray
    potential: np.ndarray
    local_entropy: np.ndarray
    arrow_x: np.ndarray
    arrow_y: np.ndarray
    reversible: np.ndarray
    irreversible: np.ndarray
    projected: bool


@dataclass(frozen=True)
class Curves:
    """V - V_min, the drift and M along the only coordinate; f_irr = 0 for want of an antisymmetric W."""

    x: np.ndarray
    potential: np.ndarray
    drift: np.ndarray
    dissipation: np.ndarray


def plane_maps(model: AbstractDynamics, draws: np.ndarray, data: np.ndarray | None = None) -> FieldMaps:
    """The model of two coordinates on a grid over the region of its draws, or of draws and recorded frames.

    Args:
        model: Of dimension two.
        draws: From e^-V, (n, 2); they set up to which potential the model is believed.
        data: Recorded frames, (n, 2); with them the region is wider, and near them the model is believed too.
    """
    low, high = _region(draws) if data is None else _joint(_region(draws), _region(data))
    believed = _support(model, draws, data, (high - low) / COARSE)
    x, y = (_cells(low[k], high[k], FINE) for k in (0, 1))
    arrow_x, arrow_y = (_cells(low[k], high[k], COARSE) for k in (0, 1))
    fine = _grid(x, y)
    V, s, _, _ = _evaluated(model, fine)
    coarse = _grid(arrow_x, arrow_y)
    coarse_V, _, reversible, irreversible = _evaluated(model, coarse)
    lowest = min(V.min(), _evaluated(model, _thinned(draws))[0].min())
    inside, coarse_inside = believed(fine, V), believed(coarse, coarse_V)
    return FieldMaps(
        axes=(0, 1),
        x=x,
        y=y,
        potential=np.where(inside, V - lowest, np.nan).reshape(FINE, FINE),
        local_entropy=np.where(inside, s, np.nan).reshape(FINE, FINE),
        arrow_x=arrow_x,
        arrow_y=arrow_y,
        reversible=np.where(coarse_inside[:, None], reversible, np.nan).reshape(COARSE, COARSE, 2),
        irreversible=np.where(coarse_inside[:, None], irreversible, np.nan).reshape(COARSE, COARSE, 2),
        projected=False,
    )


def projected_maps(model: AbstractDynamics, draws: np.ndarray) -> list[FieldMaps]:
    """Marginals and means over the other coordinates, for the first pairs of coordinates.

    V is -log of the histogram of the draws; fields and local entropy production are means over the
    draws in a bin.
    """
    some = _thinned(draws)
    _, s, reversible, irreversible = _evaluated(model, some)
    pairs = islice(combinations(range(draws.shape[1]), 2), MOST_PAIRS)
    return [_projected(draws, some, s, reversible, irreversible, pair) for pair in pairs]


def line_curves(model: AbstractDynamics, draws: np.ndarray) -> Curves:
    """The model of one coordinate over the region of its draws."""
    low, high = _region(draws)
    x = np.linspace(low[0], high[0], 400)
    V, _, drift, _ = _evaluated(model, x[:, None])
    M = np.asarray(jax.vmap(model.dissipation)(jnp.asarray(x[:, None])), np.float64)[:, 0, 0]
    return Curves(x, V - V.min(), drift[:, 0], M)


def wider(data: np.ndarray, draws: np.ndarray, factor: float = 1.5) -> bool:
    """Whether the recorded frames reach clearly beyond the stationary region."""
    low, high = _region(draws)
    joint_low, joint_high = _joint((low, high), _region(data))
    return bool(((joint_high - joint_low) > factor * (high - low)).any())


def _region(states: np.ndarray, tail: float = 0.002, margin: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """The quantiles `tail` and `1 - tail` of every coordinate, widened by `margin` of their distance."""
    low, high = np.quantile(states, [tail, 1 - tail], axis=0)
    width = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    return low - margin * width, high + margin * width


def _joint(a, b) -> tuple[np.ndarray, np.ndarray]:
    """The smallest region that holds both."""
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def _support(model: AbstractDynamics, draws: np.ndarray, data: np.ndarray | None, cell: np.ndarray):
    """A test of points: not above nearly all draws in V, or within a cell of a recorded frame."""
    ceiling = np.quantile(_evaluated(model, _thinned(draws))[0], 0.999) + ALLOWANCE
    frames = None if data is None else KDTree(_thinned(data) / cell)

    def believed(points: np.ndarray, V: np.ndarray) -> np.ndarray:
        near = np.zeros(len(V), bool)
        if frames is not None:
            near = np.isfinite(frames.query(points / cell, distance_upper_bound=1.0)[0])
        return np.isfinite(V) & ((ceiling >= V) | near)

    return believed


def _projected(draws, some, s, reversible, irreversible, pair: tuple[int, int]) -> FieldMaps:
    axes = list(pair)
    low, high = _region(draws[:, axes])
    fine, coarse = PROJECTED_FINE, PROJECTED_COARSE
    count = _bin_sums(draws[:, axes], np.ones(len(draws)), low, high, fine)
    V = -np.log(np.where(count >= LEAST_IN_BIN, count, np.nan))
    fields = (
        np.stack([_bin_means(some[:, axes], f[:, k], low, high, coarse) for k in axes], axis=-1)
        for f in (reversible, irreversible)
    )
    return FieldMaps(
        axes=pair,
        x=_cells(low[0], high[0], fine),
        y=_cells(low[1], high[1], fine),
        potential=V - np.nanmin(V) if np.isfinite(V).any() else V,
        local_entropy=_bin_means(some[:, axes], s, low, high, fine),
        arrow_x=_cells(low[0], high[0], coarse),
        arrow_y=_cells(low[1], high[1], coarse),
        reversible=next(fields),
        irreversible=next(fields),
        projected=True,
    )


def _bin_sums(places: np.ndarray, weights: np.ndarray, low, high, bins: int) -> np.ndarray:
    """Sums in bins, the second coordinate along the rows."""
    ranges = [(low[1], high[1]), (low[0], high[0])]
    return np.histogram2d(places[:, 1], places[:, 0], bins=bins, range=ranges, weights=weights)[0]


def _bin_means(places: np.ndarray, values: np.ndarray, low, high, bins: int) -> np.ndarray:
    count = _bin_sums(places, np.ones(len(places)), low, high, bins)
    return _bin_sums(places, values, low, high, bins) / np.where(count >= LEAST_IN_BIN, count, np.nan)


def _cells(low: float, high: float, count: int) -> np.ndarray:
    """The centres of `count` equal cells."""
    width = (high - low) / count
    return low + width * (np.arange(count) + 0.5)


def _grid(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _thinned(states: np.ndarray) -> np.ndarray:
    return states[:: -(-len(states) // MOST_EVALUATED)]


def _evaluated(model: AbstractDynamics, states: np.ndarray) -> tuple[np.ndarray, ...]:
    """V, s_tot, f_rev and f_irr at many states, in batches of one size so that one compilation serves all."""
    padded = np.resize(states, (-(-len(states) // BATCH) * BATCH, states.shape[1]))
    parts = [_mapped(model, jnp.asarray(batch)) for batch in np.split(padded, len(padded) // BATCH)]
    return tuple(
        np.concatenate([np.asarray(part, np.float64) for part in column])[: len(states)]
        for column in zip(*parts, strict=True)
    )


@compiled
def _mapped(model, states):
    def one(z):
        return (
            model.potential(z),
            local_entropy_production(model, z),
            model.reversible_drift(z),
            model.irreversible_drift(z),
        )

    return jax.vmap(one)(states)
