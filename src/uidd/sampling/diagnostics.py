"""Whether chains agree, and how many independent draws they are worth.

In NumPy, although BlackJAX has both: there every number of draws compiles anew, for seconds.
"""

import numpy as np


def _variances(chains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variance within the chains `(chains, draws, ...)`, and that of all draws, chains included."""
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    return within, within * (draws - 1) / draws + chains.mean(axis=1).var(axis=0, ddof=1)


def r_hat(chains: np.ndarray) -> np.ndarray:
    """sqrt(variance of all draws / variance within chains), one where chains agree (Gelman, Rubin 1992)."""
    within, total = _variances(chains)
    certain = np.where(total > 0, np.inf, 1.0)
    return np.sqrt(np.divide(total, within, out=certain, where=within > 0))


def effective_sample_size(chains: np.ndarray) -> np.ndarray:
    """n / (1 + 2 sum_t rho_t), the sum taken over Geyer's initial monotone sequence (Geyer, 1992)."""
    count, draws = chains.shape[:2]
    within, total = _variances(chains)
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), n=2 * draws, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :draws].mean(axis=0) / draws
    rho = 1 - (within - covariance) / np.where(total > 0, total, 1.0)
    rho[0] = 1
    pairs = rho[: draws - draws % 2].reshape(draws // 2, 2, *rho.shape[1:]).sum(axis=1)
    pairs *= np.cumprod(pairs > 0, axis=0)
    time = 2 * np.minimum.accumulate(pairs, axis=0).sum(axis=0) - 1
    size = count * draws
    return size / np.maximum(time, 1 / np.log10(max(size, 10)))
