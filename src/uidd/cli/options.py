"""Options that several verbs share."""

import os
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from .._checks import nearest


def _keep_none(asked: bool) -> bool:
    """For this command and those that it starts."""
    if asked:
        from .._programs import CACHE_VARIABLE

        os.environ[CACHE_VARIABLE] = "off"
    return asked


Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Out = Annotated[str, typer.Option(help="The folder to write to.", metavar="FOLDER")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a run that is already there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep no compiled programs.", callback=_keep_none)]
RunPath = Annotated[str, typer.Argument(help="The folder of a run.", metavar="RUN")]


def among(known: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """A check that an option's value is known; if not, the nearest known one is named."""

    def check(value: str) -> str:
        words = list(known())
        if value not in words:
            raise typer.BadParameter(
                f"'{value}' is not one of {', '.join(sorted(words))}. {nearest(value, words)}"
            )
        return value

    return check
