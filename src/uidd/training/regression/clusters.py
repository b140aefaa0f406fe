"""Where the states are: cells, and a mixture of Gaussians."""

import numpy as np

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
        away = some - centers[-1]
        apart = np.minimum(apart, np.einsum("nd,nd->n", away, away))
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
    possible = [count for count in COUNTS if count <= most and count * each < len(some) / 8]
    if not possible:
        return (
            np.ones(1),
            some.mean(axis=0)[None],
            np.cov(some, rowvar=False).reshape(1, dimension, dimension),
        )
    statistics = _statistics(some)
    found = [_fitted(some, statistics, count) for count in possible]
    return max(found, key=lambda one: one[0] - len(one[1][0]) * each * np.log(len(some)) / 2)[1]


def _statistics(states: np.ndarray) -> np.ndarray:
    """1, z_i and z_i z_j with i <= j of every state: what a Gaussian's log-density is linear in."""
    i, j = np.triu_indices(states.shape[1])
    return np.concatenate([np.ones((len(states), 1)), states, states[:, i] * states[:, j]], axis=1)


def _fitted(states: np.ndarray, statistics: np.ndarray, count: int):
    """The log-density of all states, up to (2 pi)^(D/2), and the mixture."""
    rounded = ROUND_OFF * states.var(axis=0).mean() * np.eye(states.shape[1])
    share = np.eye(count)[nearest(states, cell_centers(states, count))]
    total, mixture = -np.inf, _of_shares(statistics, share, rounded)
    for _ in range(ROUNDS):
        log_p = statistics @ _natural_parameters(*mixture)
        largest = log_p.max(axis=1, keepdims=True)
        p = np.exp(log_p - largest)
        whole = p.sum(axis=1, keepdims=True)
        before, total = total, float(np.sum(largest + np.log(whole)))
        if total - before < SETTLED * len(states):
            break
        mixture = _of_shares(statistics, p / whole, rounded)
    return total, mixture


def _of_shares(
    statistics: np.ndarray, share: np.ndarray, rounded: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances of states that belong to each Gaussian in part."""
    share = share[:, share.mean(axis=0) > FEWEST]
    size, dimension = share.sum(axis=0), len(rounded)
    each = share.T @ statistics / size[:, None]
    means, second = each[:, 1 : 1 + dimension], np.zeros((len(size), dimension, dimension))
    i, j = np.triu_indices(dimension)
    second[:, i, j] = second[:, j, i] = each[:, 1 + dimension :]
    return size / size.sum(), means, second - means[:, :, None] * means[:, None, :] + rounded


def _natural_parameters(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """c with the log-density of every weighted Gaussian, statistics @ c."""
    precisions = np.linalg.inv(covariances)
    pulls = np.einsum("kij,kj->ki", precisions, means)
    log_size = np.linalg.slogdet(covariances)[1] + np.sum(pulls * means, axis=1)
    i, j = np.triu_indices(means.shape[1])
    quadratic = -np.where(i == j, 0.5, 1.0) * precisions[:, i, j]
    return np.concatenate([(np.log(weights) - log_size / 2)[:, None], pulls, quadratic], axis=1).T
