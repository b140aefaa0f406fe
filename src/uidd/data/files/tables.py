"""Named columns to trajectories."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..._checks import fail
from ..trajectories import Trajectories
from .recording import gather, rows_of_each
from .request import Request
from .roles import Roles, ask_for_time, assign, listed, named, role, time_unit

if TYPE_CHECKING:
    import polars as pl

Table: TypeAlias = "dict[str, pl.Series]"
# What a cell of a text table says where it holds nothing, in lower case.
MISSING = ["", "na", "n/a", "nan", "null", "none"]


def with_nulls(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Text without space around it, and null where a cell says that it holds nothing."""
    import polars as pl

    text = pl.col(pl.String).str.strip_chars()
    nothing = text.str.to_lowercase().is_in(MISSING)
    return frame.with_columns(pl.when(nothing).then(None).otherwise(text).name.keep())


def trajectories(table: Table, request: Request) -> Trajectories:
    """Guess what is not said, and gather the rows of every trajectory."""
    roles = assign(list(table), request)
    if not table or not len(next(iter(table.values()))):
        fail("path", "a table with columns and rows", "a file without any")
    names = _coordinates(table, roles, request)
    if roles.time is None and request.dt is None:
        ask_for_time(list(table))
    rows = np.arange(len(next(iter(table.values()))))
    if any(roles):
        # A line without any value is no frame where frames are told apart by a column.
        full = np.logical_or.reduce([column.is_not_null().to_numpy() for column in table.values()])
        table, rows = {name: column.filter(full) for name, column in table.items()}, rows[full]
    stamps = _stamps(table, roles, request, rows)
    states = np.column_stack([_numbers(table[name], rows) for name in names])
    return gather(
        states,
        stamps,
        _rows(table, roles, request, rows),
        dt=request.dt,
        coordinates=names,
        time_unit=time_unit(roles.time),
        max_step=request.max_step,
    )


def _coordinates(table: Table, roles: Roles, request: Request) -> list[str]:
    """The columns named by the caller, or all columns of numbers that have no other role."""
    if request.columns is not None:
        return [named("columns", name, list(table)) for name in request.columns]
    left = [n for n in table if n not in roles and role(n) == "coordinate" and _holds_numbers(table[n])]
    if not left:
        fail("columns", "columns of numbers", f"none among {listed(list(table))}", "Name the coordinates.")
    return left


def _stamps(table: Table, roles: Roles, request: Request, rows: np.ndarray) -> np.ndarray | None:
    name = roles.time or roles.frame
    if name is None:
        return None
    stamps = _numbers(table[name], rows)
    if np.isnan(stamps).any():
        row = int(rows[np.isnan(stamps).argmax()]) + 1
        fail(name, "a number in every row", f"an empty cell in row {row}", "Remove the row or fill the cell.")
    with np.errstate(over="ignore"):  # an infinite stamp is answered with a sentence by `Trajectories`
        return stamps if roles.frame is None or request.dt is None else stamps * request.dt


def _rows(table: Table, roles: Roles, request: Request, rows: np.ndarray) -> list[np.ndarray]:
    """The rows of every trajectory; without a column of ids, all of them are one trajectory."""
    import polars as pl

    name = roles.trajectory
    if name is None:
        return [np.arange(len(rows))]
    column = table[name]
    if not column.dtype.is_numeric():
        column = _as_text(column)
    missing = column.is_null() if column.dtype == pl.String else column.is_null() | column.is_nan()
    if missing.any():
        row = int(rows[missing.to_numpy().argmax()]) + 1
        fail(name, "an id in every row", f"an empty cell in row {row}", "Remove the row or fill the cell.")
    each = rows_of_each(column.to_numpy())
    counts_rows = request.trajectory is None and role(name) == "id" and len(each) == len(rows)
    return [np.arange(len(rows))] if counts_rows else each


def _holds_numbers(column: "pl.Series") -> bool:
    """Whether a column has numbers, or text of which at least one cell is a number."""
    import polars as pl

    if column.dtype == pl.String:
        return column.cast(pl.Float64, strict=False).is_not_null().any()
    return column.dtype.is_numeric() and column.is_not_null().any()


def _numbers(column: "pl.Series", rows: np.ndarray) -> np.ndarray:
    """The column in float64, NaN where it holds nothing."""
    import polars as pl

    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return column.cast(pl.Float64).to_numpy()
    if column.dtype != pl.String:
        fail(column.name, "a column of numbers", f"values of type {column.dtype}")
    values = column.cast(pl.Float64, strict=False)
    wrong = (values.is_null() & column.is_not_null()).to_numpy()
    if wrong.any():
        first = int(wrong.argmax())
        fail(
            column.name,
            "a column of numbers",
            f"{column[first][:40]!r} in row {int(rows[first]) + 1}",
            "Correct the cell, or leave it empty where the frame is missing.",
        )
    return values.to_numpy()


def _as_text(column: "pl.Series") -> "pl.Series":
    import polars as pl

    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        fail(column.name, "a column of trajectory ids", f"values of type {column.dtype}")
