"""What drives a long run: step after step, kept on disk, shown, and ended by Ctrl-C without loss."""

import abc
from typing import Any, Generic, TypeVar

import numpy as np

from .._types import Result
from .checkpoint import CheckpointFile
from .history import EpochRecord
from .progress import TrainingProgress

S = TypeVar("S")


class AbstractRun(abc.ABC, Generic[S]):
    """A solver as the driver sees it: a state, and a step that is a pure function of it."""

    @property
    @abc.abstractmethod
    def most_steps(self) -> int:
        """How many there are at most."""

    @abc.abstractmethod
    def begin(self) -> S:
        """The state before the first step."""

    @abc.abstractmethod
    def advance(self, state: S) -> S:
        """One step."""

    @abc.abstractmethod
    def is_done(self, state: S) -> bool:
        """Whether there is nothing left to do."""

    @abc.abstractmethod
    def record(self, state: S) -> EpochRecord:
        """What the bar shows."""

    @abc.abstractmethod
    def place(self, state: S) -> str:
        """Where a run stands, in words such as `after epoch 3 of 40`."""

    @abc.abstractmethod
    def to_container(self, state: S) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Words and numbers, and arrays, for the disk."""

    @abc.abstractmethod
    def from_container(self, header: dict[str, Any], arrays: list[np.ndarray]) -> S:
        """The inverse."""


def drive(
    run: AbstractRun[S], *, file: CheckpointFile | None, resume: bool, progress: bool
) -> tuple[S | None, Result | None]:
    """Steps until the run is done, or Ctrl-C.

    Returns the last state, if there is one, and how it was stopped, if it was. The state changes in one
    assignment, so whenever Ctrl-C comes it is that of a whole step.
    """
    state = stopped = None
    with TrainingProgress(run.most_steps, shown=progress) as bar:
        try:
            restored = file is not None and resume and file.path.exists()
            state = run.from_container(*file.read()) if file is not None and restored else run.begin()
            while not run.is_done(state):
                if file is not None:
                    file.write(*run.to_container(state))
                state = run.advance(state)
                bar.show(run.record(state))
        except KeyboardInterrupt:
            place = "before the first step" if state is None else run.place(state)
            stopped = Result("interrupted", f"Interrupted {place}.")
    if file is not None and state is not None:
        file.write(*run.to_container(state), at_once=True)
    return state, stopped
