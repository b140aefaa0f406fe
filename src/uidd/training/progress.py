"""A progress bar with loss, held-out loss and time left."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .history import EpochRecord


class TrainingProgress:
    """A bar on standard error; silent when `shown` is false or nobody watches a terminal."""

    def __init__(self, epochs: int, *, shown: bool):
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}  held out {task.fields[held_out]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not shown or not (console.is_terminal or console.is_jupyter),
        )
        self._task = self._bar.add_task("training", total=epochs, loss="...", held_out="...")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, record: EpochRecord) -> None:
        """Advance to this epoch."""
        self._bar.update(
            self._task, completed=record.epoch, loss=f"{record.loss:.5f}", held_out=f"{record.held_out:.5f}"
        )
