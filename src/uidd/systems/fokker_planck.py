"""The stationary Fokker-Planck equation in a box, for constant diagonal M, by finite volumes."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage
import scipy.sparse as sparse
from scipy.interpolate import RectBivariateSpline
from scipy.sparse.linalg import splu

Field = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class StationarySolution:
    """rho = g e^-V0 / Z on the n x n cells of a grid, with its current.

    Attributes:
        edges: Of the cells, along each axis.
        probability: Of each cell.
        log_ratio: log g at the cell centres.
        circulation: W_12 at the corners of the cells, of shape (n + 1, n + 1).
        entropy_production_rate: By the midpoint rule.
    """

    edges: tuple[np.ndarray, np.ndarray]
    probability: np.ndarray
    log_ratio: np.ndarray
    circulation: np.ndarray
    entropy_production_rate: float

    @property
    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the cells, along each axis."""
        x, y = self.edges
        return (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2

    @property
    def splines(self) -> tuple[Callable, Callable]:
        """log g and W_12 as functions of one state."""
        return _spline(self.centres, self.log_ratio), _spline(self.edges, self.circulation)

    def extrapolated(self, coarse: "StationarySolution") -> "StationarySolution":
        """Fields and rate to the fourth order, from these and those with half as many cells a side."""

        def improved(axes, axes_coarse, table, table_coarse):
            return (
                table + (table - RectBivariateSpline(axes_coarse[0], axes_coarse[1], table_coarse)(*axes)) / 3
            )

        log_g = improved(self.centres, coarse.centres, self.log_ratio, coarse.log_ratio)
        rho = self.probability * np.exp(log_g - self.log_ratio)
        rate, rate_coarse = self.entropy_production_rate, coarse.entropy_production_rate
        return StationarySolution(
            self.edges,
            rho / rho.sum(),
            log_g,
            improved(self.edges, coarse.edges, self.circulation, coarse.circulation),
            rate + (rate - rate_coarse) / 3,
        )


def solve_stationary(
    guess: Field, flow: tuple[Field, Field], M: tuple[float, float], size: tuple[float, float], n: int
) -> StationarySolution:
    """Solve div[e^-V0 (u g - M grad g)] = 0 for g, no flux through the edges; the drift is -M grad V0 + u.

    With a good guess V0 the ratio g varies slowly, so that central differences serve where those of the
    density itself would oscillate.

    Args:
        guess: V0(x, y).
        flow: The two components of u(x, y).
        M: The diagonal of M.
        size: Half the sides of the box, which is centred at the origin.
        n: Cells a side.
    """
    edges = np.linspace(-size[0], size[0], n + 1), np.linspace(-size[1], size[1], n + 1)
    x, y = ((e[1:] + e[:-1]) / 2 for e in edges)
    hx, hy = (2 * half / n for half in size)
    cell = np.arange(n * n).reshape(n, n)
    faces = (  # (coordinates of the inner faces), cells before and behind, spacing
        (np.meshgrid(edges[0][1:-1], y, indexing="ij"), cell[:-1], cell[1:], hx),
        (np.meshgrid(x, edges[1][1:-1], indexing="ij"), cell[:, :-1], cell[:, 1:], hy),
    )
    fluxes, balance = [], sparse.csr_matrix((n * n, n * n))
    for (where, before, behind, h), u, m in zip(faces, flow, M, strict=True):
        rho, u_face = np.exp(-guess(*where)).ravel(), u(*where).ravel()
        k = np.arange(rho.size)
        pair = np.tile(k, 2), np.concatenate([before.ravel(), behind.ravel()])
        flux = _sparse(rho * (u_face / 2 + m / h), rho * (u_face / 2 - m / h), pair, (k.size, n * n))
        one = np.ones(k.size) / h
        balance = balance + _sparse(one, -one, pair[::-1], (n * n, k.size)) @ flux
        fluxes.append(flux)
    centres = np.meshgrid(x, y, indexing="ij")
    V0 = guess(*centres)
    balance = sparse.csr_matrix(sparse.diags(np.exp(V0).ravel()) @ balance)
    known = int(np.argmin(V0))  # g is given there: one of the n^2 balances follows from the others
    rest = np.delete(np.arange(n * n), known)
    g = np.ones(n * n)
    inner, outer = sparse.csc_matrix(balance[rest][:, rest]), balance[rest, known].toarray().ravel()
    g[rest] = splu(inner).solve(-outer)
    g /= np.average(g, weights=np.exp(-V0).ravel())
    rho = np.exp(-V0) * np.maximum(g.reshape(n, n), 0)
    probability = rho / rho.sum()
    # Where e^-V0 is next to nothing g is rounding; it is kept within what it is elsewhere.
    log_g = np.log(np.clip(g.reshape(n, n), 1e-2, 1e2))
    slopes = np.gradient(log_g, x, y, edge_order=2)
    currents = [u(*centres) - m * slope for u, m, slope in zip(flow, M, slopes, strict=True)]
    rate = sum((probability * v**2).sum() / m for v, m in zip(currents, M, strict=True))
    W = _circulation(
        (fluxes[0] @ g).reshape(n - 1, n) * hy, guess(*np.meshgrid(*edges, indexing="ij")), log_g
    )
    return StationarySolution(edges, probability, log_g, W, float(rate))


def _sparse(first, second, where, shape) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.concatenate([first, second]), where), shape=shape)


def _circulation(flux: np.ndarray, V0: np.ndarray, log_g: np.ndarray) -> np.ndarray:
    """W_12 = psi / rho at the corners: J = (d_y psi, -d_x psi) = div(rho W).

    psi is summed from the nearer edge, so that it keeps its relative precision where rho is small.
    """
    psi, half = np.zeros_like(V0), flux.shape[1] // 2
    psi[1:-1, 1:] = np.cumsum(flux, axis=1)
    psi[1:-1, half:-1] = -np.cumsum(flux[:, ::-1], axis=1)[:, ::-1][:, half:]
    padded = np.pad(log_g, 1, mode="edge")
    corners = (padded[1:, 1:] + padded[1:, :-1] + padded[:-1, 1:] + padded[:-1, :-1]) / 4
    return psi * np.exp(V0 - corners)


def _spline(axes: tuple[np.ndarray, np.ndarray], table: np.ndarray) -> Callable[[jax.Array], jax.Array]:
    """The cubic spline through a table, as a JAX function of one state; constant beyond the table."""
    coefficients = scipy.ndimage.spline_filter(np.pad(table, 2, mode="edge"), 3, mode="mirror")
    first, spacing = np.array([a[0] for a in axes]), np.array([a[1] - a[0] for a in axes])

    def value(z: jax.Array) -> jax.Array:
        last = jnp.asarray(table.shape, z.dtype) - 1
        u = jnp.clip((z - jnp.asarray(first, z.dtype)) / jnp.asarray(spacing, z.dtype), 0, last) + 2
        k = jnp.floor(u).astype(int)
        t = u - k
        weights = jnp.stack([(1 - t) ** 3, 4 - 6 * t**2 + 3 * t**3, 1 + 3 * (t + t**2 - t**3), t**3]) / 6
        block = jax.lax.dynamic_slice(jnp.asarray(coefficients, z.dtype), tuple(k - 1), (4, 4))
        return weights[:, 0] @ block @ weights[:, 1]

    return value
