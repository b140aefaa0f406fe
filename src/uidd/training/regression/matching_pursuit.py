"""Which units sigma's network has: those along which the data show that the noise changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...components import AbstractDiffusion, Network
from .independent_components import independent_components

# Scales of the units to choose from, in standard deviations, and how many of each.
SCALES, EACH = (1.0, 3.0), 256
# Pairs of either half.
LOOKED_AT = 16_384
# Of a variance: the logarithm of a square that happens to be next to nothing says no more than this.
LEAST = 0.05
# Of a unit's variance that others must leave, or it says what they say.
OF_ITS_OWN = 1e-3


def with_selected_units(sigma: AbstractDiffusion, start: np.ndarray, xi: np.ndarray) -> AbstractDiffusion:
    """The same field with units of the last scale in its networks put where the noise changes.

    A few dozen drawn units leave gaps: a noise that changes within a fraction of the data, along a direction
    that none of them has, is met by none. Of many they are chosen one after the other, that one which the
    squares of the residuals call for most beside all before (orthogonal matching pursuit; Pati et al. 1993).
    The best of hundreds looks good in noise alone, so one half of the pairs chooses and the other says how
    many are kept; the rest stay as they were drawn.

    Args:
        sigma: With drawn units.
        start: States `(n, D)`, in unit-size coordinates.
        xi: What a free drift leaves, over the root of its covariance.
    """
    networks = [n for n in jax.tree.leaves(sigma, is_leaf=_is_network) if _is_network(n)]
    if not networks or len(networks[0].hidden) != 1 or len(networks[0].scales) < 2:
        return sigma
    last = np.flatnonzero(networks[0].scale_of_unit == len(networks[0].scales) - 1)
    A, a = (np.asarray(part, np.float64) for part in networks[0].hidden[0])
    kept = np.delete(np.arange(A.shape[1]), last)
    found = chosen_units(start, xi, (A[:, kept], a[kept]), len(last))
    A[:, last[: len(found[1])]], a[last[: len(found[1])]] = found
    hidden = ((jnp.asarray(A, jnp.result_type(float)), jnp.asarray(a, jnp.result_type(float))),)
    return jax.tree.map(
        lambda node: eqx.tree_at(lambda n: n.hidden, node, hidden) if _is_network(node) else node,
        sigma,
        is_leaf=_is_network,
    )


def chosen_units(
    start: np.ndarray, xi: np.ndarray, given: tuple[np.ndarray, np.ndarray], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """A and a of at most `most` units tanh(z A + a) that tell most of the squares of xi beside given ones."""
    some = np.linspace(0, len(start) - 1, min(len(start), 2 * LOOKED_AT)).astype(int)
    # The scatter of a logarithm is the same where the noise is strong and where it is weak.
    z, y = start[some], np.log(xi[some] ** 2 + LEAST)
    y = y - y.mean(axis=0)
    A, a = _pool(z)
    X = np.concatenate([np.ones((len(z), 1)), np.tanh(z @ given[0] + given[1]), np.tanh(z @ A + a)], axis=1)
    (G, b), (other_G, other_b) = ((X[k::2].T @ X[k::2], X[k::2].T @ y[k::2]) for k in (0, 1))
    used = list(range(1 + len(given[1])))
    best, gains = [], []
    for _ in range(most + 1):
        inside = G[np.ix_(used, used)] + 1e-9 * np.trace(G) / len(G) * np.eye(len(used))
        solved = np.linalg.solve(inside, np.c_[b[used], G[used]])
        C, onto = solved[:, : y.shape[1]], solved[:, y.shape[1] :]
        gains.append(np.sum(C * (other_b[used] - other_G[np.ix_(used, used)] @ C / 2)))
        best.append(used[:])
        left, size = b - G[:, used] @ C, np.diag(G) - np.sum(G[used] * onto, axis=0)
        gain = np.where(
            size > OF_ITS_OWN * np.diag(G), np.sum(left**2, axis=1) / np.maximum(size, 1e-12), 0.0
        )
        gain[used] = 0.0
        used.append(int(np.argmax(gain)))
    picked = np.array(best[int(np.argmax(gains))][1 + len(given[1]) :], int) - 1 - len(given[1])
    return A[:, picked], a[picked]


def _pool(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and a of units laid out over the whitened states, for the states themselves."""
    dimension = states.shape[1]
    whitening = independent_components(states) if dimension > 1 else 1 / states.std(axis=0)[:, None]
    layers = [Network.steps(dimension, EACH, (scale,), dense=True) for scale in SCALES]
    A = whitening @ np.concatenate([A for A, _ in layers], axis=1)
    return A, np.concatenate([a for _, a in layers]) - states.mean(axis=0) @ A


def _is_network(node) -> bool:
    return isinstance(node, Network)
