"""Small triangular matrices, mapped over batches: factors and solves."""

import jax
import jax.numpy as jnp

from .._types import Matrix, State

# Up to this size the loops below are unrolled: mapped over a batch they are vector operations that fuse,
# while the linear-algebra library runs one small problem after the other on a CPU. Above it, unrolled
# programs take too long to compile.
UNROLLED = 12


def solve_lower(lower: Matrix, right: State) -> State:
    """L^-1 b by substitution.

    The derivative is that of a linear solve: one more substitution with L^T instead of a tape of
    single entries.
    """
    if len(right) > UNROLLED:
        return jax.scipy.linalg.solve_triangular(lower, right, lower=True)
    return jax.lax.custom_linear_solve(
        lambda v: lower @ v,
        right,
        solve=lambda _, b: _substitute(lower, b),
        transpose_solve=lambda _, b: _substitute(lower[::-1, ::-1].T, b[::-1])[::-1],
    )


def cholesky(P: Matrix) -> Matrix:
    """The lower triangular L with L L^T = P; where rounding made P indefinite, one near by.

    The diagonal is raised by a few roundings of itself. With less, the noise of one small pivot would grow
    in the next.
    """
    dimension = len(P)
    floor = 4 * dimension * jnp.finfo(P.dtype).eps * jnp.abs(jnp.diag(P)) + 1e-30
    P = P + floor * jnp.eye(dimension, dtype=P.dtype)
    if dimension > UNROLLED:
        return jnp.linalg.cholesky(P)
    zero = jnp.zeros_like(P[0, 0])
    rows: list = []
    for i in range(dimension):
        row: list = []
        for j in range(i + 1):
            other = rows[j] if j < i else row
            rest = P[i, j] - sum((row[k] * other[k] for k in range(j)), start=zero)
            row.append(rest / rows[j][j] if j < i else jnp.sqrt(jnp.maximum(rest, floor[i])))
        rows.append(row + [zero] * (dimension - 1 - i))
    return jnp.stack([jnp.stack(row) for row in rows])


def _substitute(lower: Matrix, right: State) -> State:
    solution: list = []
    for i in range(right.shape[0]):
        known = sum((lower[i, j] * solution[j] for j in range(i)), start=jnp.zeros_like(right[i]))
        solution.append((right[i] - known) / lower[i, i])
    return jnp.stack(solution)
