"""Where the states are: cells, and a mixture of Gaussians."""

import numpy as np
from scipy.special import logsumexp

LOOKED_AT = 20_000
MOVES, ROUNDS = 8, 40
# Numbers of Gaussians that are tried; what is added to their variances, as a part of that of all states; and
# the part of all states that one must stand for.
COUNTS, ROUND_OFF, FEWEST = (1, 2, 3, 4, 6, 8), 1e-5, 5e-3
# Nats a state that one more round must gain.
SETTLED = 1e-5


def cell_centers(states: np.ndarray, count: int) -> np.ndarray:
    """Places such that every state has one nearby (k-means), the same every time."""
    some, generator = states[:: -(-len(states) // LOOKED_AT)], np.random.default_rng(0)
    centers, apart = some[:1], np.full(len(some), np.inf)
    for _ in range(min(count, len(some)) - 1):
        # One more, the likelier the farther away from all before (Arthur and Vassilvitskii 2007).
        apart = np.minimum(apart, np.sum((some - centers[-1]) ** 2, axis=1))
        if not apart.any():
            break
        centers = np.concatenate([centers, some[generator.choice(len(some), 1, p=apart / apart.sum())]])
    for _ in range(MOVES):
        own = nearest(some, centers)
        size = np.bincount(own, minlength=len(centers))[:, None]
        sums = [np.bincount(own, column, len(centers)) for column in some.T]
        centers = np.where(size > 0, np.stack(sums, axis=1) / np.maximum(size, 1), centers)
    return centers


def nearest(states: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Which center is nearest to each."""
    return np.argmin(np.sum(centers**2, axis=1) / 2 - states @ centers.T, axis=1)


def gaussians_of(states: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances of the mixture that suits the states (EM; as many as BIC has it).

    States of a path are alike, so there may be more than that many independent ones would have; it does no
    harm, since what each Gaussian is worth is learned from the transitions.

    Args:
        states: `(n, D)`, about of unit size.
        most: Gaussians.
    """
    some = states[:: -(-len(states) // LOOKED_AT)]
    dimension = some.shape[1]
    each = 1 + dimension + dimension * (dimension + 1) / 2
    found = [_fitted(some, count) for count in COUNTS if count <= most and count * each < len(some) / 8]
    if not found:
        return (
            np.ones(1),
            some.mean(axis=0)[None],
            np.cov(some, rowvar=False).reshape(1, dimension, dimension),
        )
    return max(found, key=lambda one: one[0] - len(one[1][0]) * each * np.log(len(some)) / 2)[1]


def _fitted(states: np.ndarray, count: int):
    """The log-density of all states, and the mixture."""
    share = np.eye(count)[nearest(states, cell_centers(states, count))]
    mixture = _of_shares(states, share)
    log_p = _log_densities(states, *mixture)
    total = -np.inf
    for _ in range(ROUNDS):
        whole = logsumexp(log_p, axis=1)
        before, total = total, float(np.sum(whole))
        if total - before < SETTLED * len(states):
            break
        mixture = _of_shares(states, np.exp(log_p - np.reshape(whole, (-1, 1))))
        log_p = _log_densities(states, *mixture)
    return total, mixture


def _of_shares(states: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances of states that belong to each Gaussian in part."""
    share = share[:, share.mean(axis=0) > FEWEST]
    size = share.sum(axis=0)
    means = share.T @ states / size[:, None]
    apart = states[:, None] - means
    covariances = np.einsum("nk,nki,nkj->kij", share, apart, apart, optimize=True) / size[:, None, None]
    rounded = ROUND_OFF * states.var(axis=0).mean() * np.eye(states.shape[1])
    return size / size.sum(), means, covariances + rounded


def _log_densities(states: np.ndarray, weights, means, covariances) -> np.ndarray:
    """Of every weighted Gaussian, up to (2 pi)^(D/2)."""
    L = np.linalg.cholesky(covariances)
    w = np.linalg.solve(L, (states[:, None] - means).transpose(1, 2, 0))
    log_size = np.sum(np.log(np.diagonal(L, axis1=1, axis2=2)), axis=1)
    return np.log(weights) - np.sum(w**2, axis=1).T / 2 - log_size
