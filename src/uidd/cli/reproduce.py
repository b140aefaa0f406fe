"""`uidd reproduce`: an experiment of the paper."""

from typing import Annotated

import typer

from .options import Overwrite, Seed, among


def _experiments() -> list[str]:
    return ["linear"]


def _sizes() -> list[str]:
    from ..experiments.linear import SIZES

    return list(SIZES)


def reproduce(
    experiment: Annotated[str, typer.Argument(help="linear", callback=among(_experiments))],
    size: Annotated[str, typer.Option(help="quick (a minute) or paper.", callback=among(_sizes))] = "quick",
    out: Annotated[
        str | None,
        typer.Option(help="The folder to write to; runs/EXPERIMENT-SIZE by default.", metavar="FOLDER"),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """An experiment of the paper: table, figures, picture.

    Example: uidd reproduce linear --size quick
    """
    from pathlib import Path

    from .._checks import InputError
    from ..experiments import linear
    from ..models.provenance import command

    folder = Path(out or f"runs/{experiment}-{size}")
    if (folder / "results.json").exists() and not overwrite:
        raise InputError(f"'{folder}' already holds a run. Choose another --out, or --overwrite it.")
    results = linear.run(linear.SIZES[size], seed=seed, report=print)
    linear.write(results, folder, {"size": size, "seed": seed, "command": command()})
    print(linear.table(results))
    print(f"Written to {folder}: results.json, table.md, figure.png")
