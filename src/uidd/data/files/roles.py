"""Which column or array is what, judged by its name: the one place that guesses."""

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from ..._checks import fail, nearest
from .request import Request

_NUMBERED = r"(_?(id|nr|no|number|index|idx))?"
_TRAJECTORY = re.compile(
    r"(trajectory|traj|track|particle|path|run|cell|replica|replicate|trial|episode|reali[sz]ation)"
    + _NUMBERED
)
_FRAME = re.compile(r"frames?" + _NUMBERED + r"|time_?point|time_?index|position_t_frame")
_INDEX = re.compile(
    r"|unnamed:_\d+(_level_\d+)?|index|row(_?(id|number|names?))?|__index_level_\d+__|(time_?)?step|iteration"
    r"|quality|visibility|radius|manual_.*|spot_id"  # what tracking programs write beside positions
)
_UNIT = r"([fpnuµμm]?s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?)"
_TIME = re.compile(
    r"(t|times?|time_?stamps?|elapsed(_?time)?|position_t)"
    rf"(_(?P<plain>{_UNIT})|_?[(\[]_?(?P<bracketed>{_UNIT})_?[)\]])?"
)


class Roles(NamedTuple):
    """The names that hold time stamps, frame numbers and trajectory ids, where there are such."""

    time: str | None
    frame: str | None
    trajectory: str | None


def role(name: str) -> str:
    """What a name says that it holds.

    >>> [role(n) for n in ("Track_ID", "t [ms]", "Frame", "Unnamed: 0", "x", "id")]
    ['trajectory', 'time', 'frame', 'index', 'coordinate', 'id']
    """
    word = _word(name)
    if word == "id":
        return "id"
    forms = {"trajectory": _TRAJECTORY, "time": _TIME, "frame": _FRAME, "index": _INDEX}
    return next((kind for kind, form in forms.items() if form.fullmatch(word)), "coordinate")


def time_unit(name: str | None) -> str:
    """The unit that the name of a time column carries: `s` for `time_s` and `t [s]`, else nothing."""
    match = _TIME.fullmatch(_word(name or ""))
    return (match["plain"] or match["bracketed"] or "") if match else ""


def assign(known: Sequence[str], request: Request) -> Roles:
    """Take the names the caller gave, and guess the others among `known`."""
    said = (*(request.columns or ()), request.time, request.trajectory)
    free = [name for name in known if name not in said]
    time = frame = None
    if request.time is not None:
        time = named("time", request.time, known)
    elif request.dt is None:
        time = _only("time", [n for n in free if role(n) == "time"])
    else:
        frame = _only("frame", [n for n in free if role(n) == "frame"])
    if request.trajectory is not None:
        trajectory = named("trajectory", request.trajectory, known)
    else:
        trajectory = _only("trajectory", [n for n in free if role(n) == "trajectory"])
        trajectory = trajectory or _only("trajectory", [n for n in free if role(n) == "id"])
    return Roles(time, frame, trajectory)


def named(argument: str, name: str, known: Sequence[str]) -> str:
    """Return `name` if the file has it, else raise with the nearest name that it has."""
    if name not in known:
        fail(argument, "a name that the file has", repr(name), nearest(str(name), known[:40]))
    return name


def ask_for_time(known: Sequence[str]) -> NoReturn:
    """Say that the file holds no time stamps, and what to do."""
    fail(
        "dt",
        "given for a file without time stamps",
        f"none, and only {listed(known)} in the file",
        "Give --dt (dt=), the time between two frames, or --time (time=), the name of the time stamps.",
    )


def listed(names: Sequence[str]) -> str:
    """Names for a sentence: the first twelve of them."""
    return ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")


def _word(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip()).lower()


def _only(argument: str, candidates: list[str]) -> str | None:
    if len(candidates) > 1:
        advice = "Remove all but one." if argument == "frame" else f"Name the right one with `{argument}`."
        fail(argument, "held by one column that is easy to tell", listed(candidates), advice)
    return candidates[0] if candidates else None
