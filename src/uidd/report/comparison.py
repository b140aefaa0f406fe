"""Recorded against simulated paths."""

from dataclasses import dataclass

import numpy as np

from ..plotting import Band
from .analysis import Analysis

SHOWN_PATHS = 4


@dataclass(frozen=True)
class Comparison:
    """One coordinate, recorded and simulated at the same times.

    Attributes:
        recorded: Some recorded paths, mean and 5 to 95 % band of all.
        simulated: The same of the model's paths.
        recorded_frames: All recorded values.
        simulated_frames: All simulated values.
        distance: Kolmogorov-Smirnov distance of the two sets of frames.
        floor: The same distance between two halves of the recorded paths; None for a single path.
        interpolated: Whether recorded paths had to be brought to common times.
    """

    recorded: Band
    simulated: Band
    recorded_frames: np.ndarray
    simulated_frames: np.ndarray
    distance: float
    floor: float | None
    interpolated: bool


def compare(analysis: Analysis, coordinate: int) -> Comparison | None:
    """Recorded and simulated values of one coordinate; None when no simulated path stayed finite."""
    times = np.asarray(analysis.simulation.times, np.float64)
    simulated = np.asarray(analysis.simulation.states)[..., coordinate]
    simulated = simulated[np.isfinite(simulated).all(axis=1)]
    if not len(simulated):
        return None
    data = analysis.recorded
    same = all(
        len(t) == len(times) and np.allclose(t, times, rtol=1e-6, atol=1e-9 * times[-1]) for t in data.times
    )
    paths = [s[:, coordinate] for s in data.states]
    if not same:
        paths = [
            np.interp(times, t, s, left=np.nan, right=np.nan) for t, s in zip(data.times, paths, strict=True)
        ]
    recorded = np.stack(paths)
    frames, model_frames = recorded[np.isfinite(recorded)], simulated.ravel()
    floor = None
    if len(recorded) > 1:
        halves = [half[np.isfinite(half)] for half in (recorded[::2], recorded[1::2])]
        floor = ks_distance(*halves)
    return Comparison(
        recorded=_band(times, recorded),
        simulated=_band(times, simulated),
        recorded_frames=frames,
        simulated_frames=model_frames,
        distance=ks_distance(frames, model_frames),
        floor=floor,
        interpolated=not same,
    )


def ks_distance(a: np.ndarray, b: np.ndarray) -> float:
    """max |F_a - F_b| of the two empirical distribution functions, between 0 and 1.

    >>> ks_distance(np.array([0.0, 1.0]), np.array([0.0, 1.0])), ks_distance(np.array([0.0]), np.array([1.0]))
    (0.0, 1.0)
    """
    a, b = np.sort(a), np.sort(b)
    places = np.concatenate([a, b])
    gap = np.searchsorted(a, places, "right") / len(a) - np.searchsorted(b, places, "right") / len(b)
    return float(np.abs(gap).max())


def _band(times: np.ndarray, paths: np.ndarray) -> Band:
    """Over the times at which at least one path was recorded."""
    known = np.isfinite(paths).any(axis=0)
    times, paths = times[known], paths[:, known]
    low, high = np.nanquantile(paths, [0.05, 0.95], axis=0)
    shown = paths[:: max(1, len(paths) // SHOWN_PATHS)][:SHOWN_PATHS]
    return Band(times, shown, np.nanmean(paths, axis=0), low, high)
