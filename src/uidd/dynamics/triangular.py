"""Solving with sigma, which is lower triangular already: no factorisation, no inverse."""

import jax
import jax.numpy as jnp

from .._types import Matrix, State


def solve_lower(lower: Matrix, right: State) -> State:
    """L^-1 b by substitution, unrolled over the rows.

    Mapped over a batch this is D vector operations that fuse, while the batched triangular solve of
    the linear-algebra library runs one small solve after the other on a CPU. The derivative is that
    of a linear solve: one more substitution with L^T instead of a tape of single entries.
    """
    return jax.lax.custom_linear_solve(
        lambda v: lower @ v,
        right,
        solve=lambda _, b: _substitute(lower, b),
        transpose_solve=lambda _, b: _substitute(lower[::-1, ::-1].T, b[::-1])[::-1],
    )


def _substitute(lower: Matrix, right: State) -> State:
    solution: list = []
    for i in range(right.shape[0]):
        known = sum((lower[i, j] * solution[j] for j in range(i)), start=jnp.zeros_like(right[i]))
        solution.append((right[i] - known) / lower[i, i])
    return jnp.stack(solution)
