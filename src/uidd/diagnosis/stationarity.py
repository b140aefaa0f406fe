"""Whether chains still move on, and how many independent draws they hold."""

import numpy as np
from scipy.stats import norm

# Of the window over which autocorrelations are summed, in autocorrelation times (Sokal 1989).
WINDOW = 5
LEVEL = 1e-3


def autocorrelation_times(series: np.ndarray) -> np.ndarray:
    """1 + 2 sum_t rho(t) of every coordinate, from (chains, draws, D), with one mean for all chains."""
    _, n, D = series.shape
    apart = series - series.mean(axis=(0, 1))
    spectrum = np.abs(np.fft.rfft(apart, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum.mean(axis=0), axis=0)[:n] / np.arange(n, 0, -1)[:, None]
    sums = 2 * np.cumsum(covariance / np.maximum(covariance[:1], 1e-300), axis=0) - 1
    inside = np.arange(n)[:, None] >= WINDOW * sums
    ends = np.where(inside.any(axis=0), inside.argmax(axis=0), n - 1)
    return np.clip(sums[ends, np.arange(D)], 1.0, n)


def independent_draws(series: np.ndarray) -> float:
    """Draws over the longest autocorrelation time."""
    return series.shape[0] * series.shape[1] / float(autocorrelation_times(series).max())


def moves_on(series: np.ndarray) -> bool:
    """Whether a mean or a variance differs between the halves of the chains by more than chance allows."""
    middle = series.shape[1] // 2
    signals = np.concatenate([series, (series - series.mean(axis=(0, 1))) ** 2], axis=2)
    first, second = signals[:, :middle], signals[:, middle : 2 * middle]
    variances = []
    for half in (first, second):
        count = half.shape[0] * half.shape[1]
        variances.append(half.var(axis=(0, 1)) * autocorrelation_times(half) / count)
    apart = np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1))) / np.sqrt(sum(variances))
    return bool(np.any(apart > norm.isf(LEVEL / 2 / signals.shape[2])))
