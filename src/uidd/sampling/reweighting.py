"""Draws from one density, weighted as draws from another."""

from typing import Any

import numpy as np

from .._checks import fail, numbers


def reweighted(values: Any, other: Any) -> tuple[np.ndarray, float]:
    """w_i ~ e^-(V_B(z_i) - V_A(z_i)): weights of sum one that make draws z_i from e^-V_A draws from e^-V_B.

    Constants in V_A and V_B cancel.

    Args:
        values: V_A at the draws, `(n,)`.
        other: V_B at the same draws; infinite where B forbids a state.

    Returns:
        The weights, and 1 / sum w_i^2: of n independent draws this many remain. When it is small
        against n, the draws hardly reach where B has its mass, and the weighted mean means little.

    >>> weights, size = reweighted([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])  # the same density
    >>> weights.round(3).tolist(), round(size, 3)
    ([0.333, 0.333, 0.333], 3.0)
    """
    wanted = "energies of shape (n,), one a draw"
    V_A, V_B = numbers("values", values, wanted), numbers("other", other, wanted)
    if V_A.ndim != 1 or not V_A.size or not np.isfinite(V_A).all():
        fail("values", "finite energies of shape (n,), one a draw", f"shape {V_A.shape}")
    if V_B.shape != V_A.shape or not (-np.inf < V_B).all() or np.isinf(V_B).all():
        fail("other", "energies at the same draws, some of them finite", f"shape {V_B.shape}")
    difference = V_B - V_A
    weights = np.exp(-(difference - difference.min()))
    weights /= weights.sum()
    return weights, float(1 / np.sum(weights**2))
