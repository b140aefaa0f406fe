"""Small matrices, mapped over batches: factors and solves.

None calls the linear-algebra library. Mapped over a batch on a CPU, it runs one small problem after the
other, and two such calls in one program can wait for each other forever (seen with jaxlib 0.10 on two cores).
"""

import jax
import jax.numpy as jnp

from .._types import Matrix, State

# Up to this size the loops are unrolled into vector operations that fuse; above it such programs take longer
# to compile than they save.
UNROLLED = 4


def solve_lower(lower: Matrix, right: State | Matrix) -> State | Matrix:
    """L^-1 b by substitution, for a vector or a matrix b.

    The derivative is that of a linear solve: one more substitution with L^T instead of a tape of
    single entries.
    """
    substitute = _substitute if len(right) <= UNROLLED else _substitute_in_loop
    return jax.lax.custom_linear_solve(
        lambda v: lower @ v,
        right,
        solve=lambda _, b: substitute(lower, b),
        transpose_solve=lambda _, b: substitute(lower[::-1, ::-1].T, b[::-1])[::-1],
    )


def solve_positive(P: Matrix, right: State | Matrix) -> State | Matrix:
    """P^-1 b for a positive P = L L^T, as exact as `cholesky` makes L."""
    L = cholesky(P)
    return solve_lower(L[::-1, ::-1].T, solve_lower(L, right)[::-1])[::-1]


def cholesky(P: Matrix) -> Matrix:
    """The lower triangular L with L L^T = P; where rounding made P indefinite, one near by.

    The diagonal is raised by a few roundings of itself. With less, the noise of one small pivot would grow
    in the next.
    """
    floor = 4 * len(P) * jnp.finfo(P.dtype).eps * jnp.abs(jnp.diag(P)) + 1e-30
    P = P + floor * jnp.eye(len(P), dtype=P.dtype)
    return _cholesky(P, floor) if len(P) <= UNROLLED else _cholesky_in_loop(P, floor)


def _cholesky(P: Matrix, floor: State) -> Matrix:
    """Entry by entry, and so are its derivatives."""
    zero, rows = jnp.zeros_like(P[0, 0]), []
    for i in range(len(P)):
        row: list = []
        for j in range(i + 1):
            other = rows[j] if j < i else row
            rest = P[i, j] - sum((row[k] * other[k] for k in range(j)), start=zero)
            row.append(rest / rows[j][j] if j < i else jnp.sqrt(jnp.maximum(rest, floor[i])))
        rows.append(row + [zero] * (len(P) - 1 - i))
    return jnp.stack([jnp.stack(row) for row in rows])


@jax.custom_jvp
def _cholesky_in_loop(P: Matrix, floor: State) -> Matrix:
    """Column by column."""
    index = jnp.arange(len(P))

    def with_column(j, L):
        rest = P[:, j] - L @ L[j]
        pivot = jnp.sqrt(jnp.maximum(rest[j], floor[j]))
        return L.at[:, j].set(jnp.where(index > j, rest / pivot, jnp.where(index == j, pivot, 0.0)))

    return jax.lax.fori_loop(0, len(P), with_column, jnp.zeros_like(P))


@_cholesky_in_loop.defjvp
def _cholesky_derivative(at, along):
    """dL = L half(L^-1 dP L^-T): the lower triangle, and half of the diagonal."""
    L, (dP, _) = _cholesky_in_loop(*at), along
    inside = solve_lower(L, solve_lower(L, (dP + dP.T) / 2).T)
    return L, L @ (jnp.tril(inside, -1) + jnp.diag(jnp.diag(inside)) / 2)


def _substitute(lower: Matrix, right: State | Matrix) -> State | Matrix:
    solution: list = []
    for i in range(len(right)):
        known = sum((lower[i, j] * solution[j] for j in range(i)), start=jnp.zeros_like(right[i]))
        solution.append((right[i] - known) / lower[i, i])
    return jnp.stack(solution)


def _substitute_in_loop(lower: Matrix, right: State | Matrix) -> State | Matrix:
    def with_row(i, solution):
        return solution.at[i].set((right[i] - lower[i] @ solution) / lower[i, i])

    return jax.lax.fori_loop(0, len(right), with_row, jnp.zeros_like(right))
