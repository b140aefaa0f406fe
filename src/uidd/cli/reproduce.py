"""`uidd reproduce`: an experiment of the paper."""

from typing import Annotated

import typer

from ..experiments.registry import STUDIES, study
from .options import Overwrite, Seed, among

SIZES = ["quick", "paper"]


def reproduce(
    experiment: Annotated[str, typer.Argument(help=" or ".join(STUDIES), callback=among(lambda: STUDIES))],
    size: Annotated[
        str, typer.Option(help="quick (minutes) or paper.", callback=among(lambda: SIZES))
    ] = "quick",
    out: Annotated[
        str | None,
        typer.Option(help="The folder to write to; runs/EXPERIMENT-SIZE by default.", metavar="FOLDER"),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            help="A Matrix Market or MATLAB file in place of relat4 (sgld-least-squares).", metavar="FILE"
        ),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """An experiment of the paper: table, figures, pictures.

    Example: uidd reproduce linear --size quick
    """
    import shutil
    from pathlib import Path

    from .._checks import InputError
    from ..models.provenance import command

    folder = Path(out or f"runs/{experiment}-{size}")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"'{folder}' is a file, not a folder. Choose another --out.")
    if overwrite:
        (folder / "results.json").unlink(missing_ok=True)
        shutil.rmtree(folder / "trials", ignore_errors=True)
    elif (folder / "results.json").exists():
        raise InputError(f"'{folder}' already holds a run. Choose another --out, or --overwrite it.")
    if matrix is not None and experiment != "sgld-least-squares":
        raise InputError("--matrix belongs to sgld-least-squares; leave it out.")
    given = {} if matrix is None else {"matrix": matrix}
    made = study(experiment).reproduce(
        size, folder, seed=seed, report=print, config={"command": command()}, **given
    )
    print(made)
    print(
        f"Written to {folder}: {', '.join(sorted(file.name for file in folder.iterdir() if file.is_file()))}"
    )
