"""The one place that words argument errors: *`name` must be <what>; got <value>. <What to do.>*"""

import difflib
import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import numpy as np


class InputError(ValueError):
    """Something the user gave cannot be used; the message is one sentence that says why."""


def fail(name: str, must: str, got: object, advice: str = "") -> NoReturn:
    """Raise the error for argument `name`.

    >>> fail("dt", "a positive number", -1, "Give the time between two frames.")
    Traceback (most recent call last):
    uidd._checks.InputError: `dt` must be a positive number; got -1. Give the time between two frames.
    """
    raise InputError(f"`{name}` must be {must}; got {got}." + (f" {advice}" if advice else ""))


def nearest(value: str, known: Iterable[str]) -> str:
    """A hint that names the known word nearest to `value`, or lists all of them.

    >>> nearest("qick", ["quick", "paper"])
    "Did you mean 'quick'?"
    """
    known = sorted(known)
    close = difflib.get_close_matches(value, known, n=1)
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(known)}."


def one_of(name: str, value: str, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`, else raise with the nearest known word."""
    known = list(known)
    if value not in known:
        fail(name, "a known name", repr(value), nearest(str(value), known))
    return value


def positive(name: str, value: object, advice: str = "") -> float:
    """Return `value` as a float if it is a positive finite number."""
    try:
        number = float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        fail(name, "a positive number", repr(value), advice)
    if not (math.isfinite(number) and number > 0):
        fail(name, "a positive finite number", value, advice)
    return number


def numbers(name: str, value: Any, must: str) -> "np.ndarray":
    """Return `value` as a float64 array if it is an array of numbers."""
    import numpy as np  # here, because `uidd --help` needs this module but no NumPy

    try:
        if np.iscomplexobj(value):
            raise TypeError
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        fail(name, must, f"a {type(value).__name__} that is not an array of numbers")


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number (Python's or NumPy's) of at least `least`."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        fail(name, f"a whole number of at least {least}", repr(value))
    if isinstance(value, bool) or number < least:
        fail(name, f"a whole number of at least {least}", value)
    return number
