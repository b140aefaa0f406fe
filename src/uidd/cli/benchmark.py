"""`uidd benchmark`: how right the defaults are on systems with a known answer."""

from typing import Annotated

import typer

from .options import Out, Seed, among


def _studies() -> list[str]:
    return ["accuracy"]


def benchmark(
    study: Annotated[str, typer.Argument(help="accuracy", callback=among(_studies))],
    only: Annotated[
        str | None, typer.Option(help="A case, or the beginning of several such as linear.", metavar="NAME")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Fresh data sets a case.", min=1)] = 1,
    peers: Annotated[bool, typer.Option("--peers", help="Other methods on the same data, too.")] = False,
    out: Out = "runs/accuracy",
    seed: Seed = 0,
    table_only: Annotated[
        bool, typer.Option("--table-only", help="Measure nothing; rewrite the table from stored rows.")
    ] = False,
) -> None:
    """Entropy production, potential and noise against the truth, with the bars they must clear.

    Rows accumulate in FOLDER/rows; FOLDER/table.md is made from all of them.

    Example: uidd benchmark accuracy --only linear-1 --peers
    """
    from pathlib import Path

    from ..experiments import accuracy, accuracy_table
    from ..experiments.accuracy_cases import chosen
    from ..models.provenance import command

    folder, cases = Path(out), chosen(only)
    if not table_only:
        seeds = range(seed, seed + repeats)
        print(accuracy_table.HEAD, flush=True)
        for row in accuracy.run(cases, folder, seeds=seeds, peers=peers, command=command()):
            accuracy_table.write_table(folder)
            print(accuracy_table.line(row), flush=True)
    names = {case.name for case in cases}
    rows = [row for row in accuracy_table.stored_rows(folder) if row["case"] in names]
    for summary in accuracy_table.summaries(rows):
        print(accuracy_table.summary_line(summary))
    print(accuracy_table.tally(rows))
    print(f"Written to {accuracy_table.write_table(folder)}")
