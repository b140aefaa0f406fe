"""What the caller said about a file."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..._checks import InputError, fail, positive


@dataclass(frozen=True)
class Request:
    """The arguments of `load_trajectories`, checked; None means: guess."""

    dt: float | None = None
    columns: tuple[str, ...] | None = None
    time: str | None = None
    trajectory: str | None = None
    max_step: float | None = None

    @classmethod
    def of(
        cls,
        dt: float | None,
        columns: Sequence[str] | None,
        time: str | None,
        trajectory: str | None,
        max_step: float | None,
    ) -> "Request":
        """Check the arguments that can be judged without the file."""
        if dt is not None and time is not None:
            raise InputError(
                "Give either `dt`, the time between two frames, or `time`, the name of the time stamps; "
                "got both."
            )
        step = None if dt is None else positive("dt", dt, "Give the time between two frames.")
        longest = None if max_step is None else positive("max_step", max_step)
        names = (columns,) if isinstance(columns, str) else columns
        if names is not None:
            names = tuple(str(name) for name in names)
            if not names:
                fail("columns", "the names of at least one coordinate", "none")
            if len(set(names)) < len(names):
                fail("columns", "different names", ", ".join(map(repr, names)))
            for argument, name in (("time", time), ("trajectory", trajectory)):
                if name in names:
                    fail(argument, "no coordinate", f"{name!r}, which `columns` names too")
        return cls(step, names, time, trajectory, longest)
