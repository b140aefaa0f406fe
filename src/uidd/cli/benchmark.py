"""`uidd benchmark`: how right the defaults are on systems with a known answer."""

from typing import Annotated

import typer

from .options import Out, Seed, among


def _studies() -> list[str]:
    return ["accuracy", "population"]


def benchmark(
    study: Annotated[str, typer.Argument(help="accuracy or population", callback=among(_studies))],
    only: Annotated[
        str | None, typer.Option(help="A case, or the beginning of several such as linear.", metavar="NAME")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Fresh data sets a case.", min=1)] = 1,
    peers: Annotated[bool, typer.Option("--peers", help="Other methods on the same data, too.")] = False,
    out: Out = "",
    seed: Seed = 0,
    seeds: Annotated[
        str, typer.Option(help="Of the population, first and one past the last.", metavar="A:B")
    ] = "2600:2610",
    workers: Annotated[int, typer.Option(help="Systems of the population side by side.", min=1)] = 1,
    table_only: Annotated[
        bool, typer.Option("--table-only", help="Measure nothing; rewrite the table from stored rows.")
    ] = False,
) -> None:
    """Entropy production, potential and noise against the truth, with the bars they must clear.

    `accuracy` takes systems from a list, `population` systems drawn by seeds. Rows accumulate in
    FOLDER/rows; FOLDER/table.md is made from all of them (and `systems.md`, of the population).

    Example: uidd benchmark accuracy --only linear-1 --peers

    Example: uidd benchmark population --seeds 2600:2624 --workers 2
    """
    from pathlib import Path

    folder = Path(out or f"runs/{study}")
    if study == "population":
        _population(folder, _range(seeds), workers, peers, table_only)
    else:
        _accuracy(folder, only, range(seed, seed + repeats), peers, table_only)


def _range(words: str) -> range:
    from .._checks import fail

    first, _, end = words.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        fail("seeds", "two whole numbers A:B, A < B", repr(words), "For instance --seeds 2600:2624.")
    return range(int(first), int(end))


def _population(folder, seeds, workers: int, peers: bool, table_only: bool) -> None:
    from ..experiments.peers import require_sfi
    from ..experiments.population import peers as population_peers
    from ..experiments.population import study as population
    from ..experiments.population import table
    from ..models.provenance import command

    if peers and not table_only:
        require_sfi()
    if not table_only:
        rows = population.run(seeds, folder, workers=workers, command=command())
        for done, row in enumerate(rows, 1):
            table.write_table(folder)
            print(f"{done}: {table.told(row)}", flush=True)
    if peers and not table_only:
        for row in population_peers.run(seeds, folder, workers=workers, command=command()):
            print(f"SFI, seed {row['seed']}, {row['code']}", flush=True)
    print(table.summarised(folder))


def _accuracy(folder, only: str | None, seeds, peers: bool, table_only: bool) -> None:
    from ..experiments.accuracy import study as accuracy
    from ..experiments.accuracy import table as accuracy_table
    from ..experiments.accuracy.cases import chosen
    from ..models.provenance import command

    cases = chosen(only)
    if not table_only:
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
