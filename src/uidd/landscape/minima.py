"""All distinct minima of a potential."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from .._checks import fail, numbers
from .._programs import compiled
from .._types import Result, Scalar, State
from .records import StationaryPoint

# A point counts as stationary when a Newton step from it would move by less than this share of the
# spread of the starts: single precision gives no more.
GRADIENT_TOLERANCE = 1e-3
MERGE_DISTANCE = 0.02


def find_minima(potential: Callable[[State], Scalar], starts: Any) -> list[StationaryPoint]:
    """The distinct minima to which quasi-Newton descent from many starts leads, lowest first.

    Args:
        potential: Any function z -> float, such as `model.potential`.
        starts: States `(n, D)`, data points say. Their spread sets the scale of every coordinate.
    """
    if not callable(potential):
        fail("potential", "a function of one state", type(potential).__name__, "Give model.potential.")
    starts = numbers("starts", starts, "finite states of shape (n, D)")
    if starts.ndim != 2 or not starts.size or not np.isfinite(starts).all():
        fail("starts", "finite states of shape (n, D)", f"shape {starts.shape}")
    center, spread = starts.mean(axis=0), starts.std(axis=0)
    spread = np.where(spread > 0, spread, np.maximum(np.abs(center), 1.0))
    found = _descend(
        potential, jnp.asarray(center), jnp.asarray(spread), jnp.asarray((starts - center) / spread)
    )
    points, energies, gradients, hessians = (np.asarray(part, np.float64) for part in found)
    minima: list[tuple[np.ndarray, StationaryPoint]] = []
    for k in np.argsort(energies):
        if not np.isfinite(hessians[k]).all() or not np.isfinite(energies[k]):
            continue
        if any(np.abs(points[k] - other).max() < MERGE_DISTANCE for other, _ in minima):
            continue
        point = _judged(center, spread, points[k], energies[k], gradients[k], hessians[k])
        if point.result.successful:
            minima.append((points[k], point))
    return [point for _, point in minima]


@compiled
def _descend(potential, center, spread, starts):
    """Minimise from every start in coordinates y = (z - center) / spread, then one look around."""

    def energy(y, args=None):
        return potential(center + spread * y)

    solver = optimistix.BFGS(rtol=1e-6, atol=1e-6)

    def one(start):
        y = optimistix.minimise(energy, solver, start, max_steps=256, throw=False).value
        # A few Newton steps with the Hessian made positive: BFGS stops at single precision's noise.
        for _ in range(3):
            values, vectors = jnp.linalg.eigh(jax.hessian(energy)(y))
            floor = 1e-3 * jnp.abs(values).max()
            step = vectors @ ((vectors.T @ jax.grad(energy)(y)) / jnp.maximum(jnp.abs(values), floor))
            step = step * jnp.minimum(1.0, 0.1 / (jnp.linalg.norm(step) + 1e-30))
            y = jnp.where(energy(y - step) <= energy(y) + 1e-5 * jnp.abs(energy(y)), y - step, y)
        return y, energy(y), jax.grad(energy)(y), jax.hessian(energy)(y)

    return jax.vmap(one)(starts)


def _judged(center, spread, y, energy, gradient, hessian) -> StationaryPoint:
    """Accept only what is stationary with no negative eigenvalue; user units in the record."""
    values = np.linalg.eigvalsh(hessian)
    size = np.abs(values).max()
    norm = float(np.linalg.norm(gradient) / size) if size > 0 else np.inf
    user = hessian / np.outer(spread, spread)
    index = int((values < -1e-4 * size).sum())
    result = Result()
    if norm > GRADIENT_TOLERANCE:
        result = Result("not_converged", f"The gradient did not vanish (relative norm {norm:.1e}).")
    elif index:
        result = Result("wrong_index", f"{index} eigenvalues of the Hessian are negative.")
    return StationaryPoint(center + spread * y, energy, np.linalg.eigvalsh(user), index, norm, result)
