"""Whether recorded states lie as e^-V says, where the recording is stationary."""

from itertools import combinations_with_replacement

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.stats

from ..._programs import compiled
from ...data import Trajectories
from ...models import Coefficients, Ensemble

# States that are looked at.
MOST_STATES = 8192
# Fewer paths are cut into so many stretches at most.
STRETCHES = 32


def density_misfit(ensemble: Ensemble, data: Trajectories) -> tuple[float, float]:
    """Chance, and size in kT, of a V' != V with the recorded states in e^-V'.

    A fit reads V off transitions alone: where states are says nothing to it. Where a system turns much faster
    than it relaxes, a V that is too flat with a W that is as much too large has nearly the same drift, and
    no residual shows it. The recorded states do. With L phi = f_rev . grad phi + Tr M grad grad phi,

        <L phi> = <grad phi . M grad (V' - V)>    over e^-V',

    by parts, which is zero for all phi if V' = V. It is asked for all first and second powers of the
    coordinates where there are enough paths, otherwise for fewer: Hotelling's T^2 over paths, whose
    covariance has what the ensemble says of V added to it. It holds in every well by itself: wells whose
    shares have not settled do not matter, nor do they show.

    Args:
        ensemble: The model and its members.
        data: A stationary recording.
    """
    states, unit = _some(data)
    z = np.asarray(ensemble.center.scaling.to_unit(states), np.float64)
    base = ensemble.center if ensemble.full is None else ensemble.full
    f, M = _reversible(Coefficients.of(base.unit), [0 * ensemble.wide[0], *ensemble.wide], z)
    if unit.max() + 1 < STRETCHES:
        unit = _stretches(z, M[0], data.total_time / ensemble.center.scaling.time)
    count = np.bincount(unit)
    share, pairs = count / len(z), _powers(z.shape[1], len(count))
    z = z - z.mean(axis=0)
    mean_of_unit = scipy.sparse.csr_array((1 / count[unit], (unit, np.arange(len(z)))))
    each = np.stack([mean_of_unit @ _generated(z, *of, pairs) for of in zip(f, M, strict=True)])
    means = share @ each
    found, moved, n = means[0], means[1:] - means[0], 1 / float(np.sum(share**2))
    m = len(found)
    if n <= m + 1:
        return 1.0, 0.0
    # The noise is that of V', which may be any member's; and V is known up to what these differ by.
    apart = (share[:, None] * (each[1:] - means[1:, None])).reshape(-1, m)
    covariance = apart.T @ apart / len(moved) * n / (n - 1) + moved.T @ moved / len(moved)
    T2 = found @ np.linalg.lstsq(covariance, found, rcond=1e-10)[0]
    chance = float(scipy.stats.f.sf(T2 * (n - m) / (m * (n - 1)), m, n - m))
    return chance, _potential(z, M[0], pairs, found)


def _some(data: Trajectories) -> tuple[np.ndarray, np.ndarray]:
    """Some states, evenly spaced, and the path that each belongs to."""
    states = np.concatenate(data.states)
    origin = np.repeat(np.unique(data.origins, return_inverse=True)[1], [len(s) for s in data.states])
    stride = -(-len(states) // MOST_STATES)
    return states[::stride], np.unique(origin[::stride], return_inverse=True)[1]


def _stretches(z: np.ndarray, M: np.ndarray, total_time: float) -> np.ndarray:
    """Stretches of a few paths in place of paths, each at least four times as long as the slowest direction
    takes to relax, x . C x / x . M x (a Rayleigh quotient): shorter ones go together.
    """
    slowest = scipy.linalg.eigh(np.atleast_2d(np.cov(z.T)), M.mean(axis=0), eigvals_only=True)[-1]
    count = int(min(STRETCHES, max(1.0, total_time / (4 * slowest))))
    return np.arange(len(z)) * count // len(z)


def _powers(dimension: int, paths: int) -> list[tuple[int, int]]:
    """Which products z_i z_j there are; none where only |z|^2 is asked for."""
    pairs = list(combinations_with_replacement(range(dimension), 2))
    return pairs if paths >= 2 * (dimension + len(pairs)) else []


def _generated(z: np.ndarray, f: np.ndarray, M: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """L phi of every state, for phi = z_i and z_i z_j, or |z|^2 alone."""
    if not pairs:
        return 2 * (np.sum(z * f, axis=1) + np.trace(M, axis1=1, axis2=2))[:, None]
    i, j = np.asarray(pairs).T
    return np.concatenate([f, z[:, i] * f[:, j] + z[:, j] * f[:, i] + 2 * M[:, i, j]], axis=1)


def _potential(z: np.ndarray, M: np.ndarray, pairs: list[tuple[int, int]], found: np.ndarray) -> float:
    """The root mean square of V' - V = c . phi with <grad phi . M grad phi> c = <L phi>."""
    D = z.shape[1]
    if pairs:
        phi = np.concatenate([z, np.stack([z[:, i] * z[:, j] for i, j in pairs], axis=1)], axis=1)
        slopes = np.zeros((len(z), phi.shape[1], D))
        slopes[:, :D] = np.eye(D)
        for k, (i, j) in enumerate(pairs):
            slopes[:, D + k, i] += z[:, j]
            slopes[:, D + k, j] += z[:, i]
    else:
        phi, slopes = np.sum(z**2, axis=1, keepdims=True), 2 * z[:, None, :]
    metric = np.einsum("nai,nij,nbj->ab", slopes, M, slopes, optimize=True) / len(z)
    return float(np.std(phi @ np.linalg.lstsq(metric, found, rcond=1e-10)[0]))


def _reversible(
    own: Coefficients, deviations: list[np.ndarray], z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """f_rev and M of every member at every state."""
    members = [own.unravelled(own.vector + row) for row in deviations]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)
    found = _of_members(stacked, own.frozen, jnp.asarray(z, jnp.result_type(float)))
    f, M = (np.nan_to_num(np.asarray(part, np.float64)) for part in found)
    return f, M


@compiled
def _of_members(stacked, frozen, states):
    def one(member):
        dynamics = eqx.combine(member, frozen)
        return jax.lax.map(
            lambda z: (dynamics.reversible_drift(z), dynamics.dissipation(z)), states, batch_size=2048
        )

    return jax.lax.map(one, stacked)
