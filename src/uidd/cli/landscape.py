"""`uidd landscape`: minima, saddles and barriers of a run."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import RunPath, Seed

if TYPE_CHECKING:
    from ..landscape import Landscape
    from ..models import Ensemble


def landscape(
    run: RunPath,
    seed: Seed = 0,
    rates: Annotated[
        bool, typer.Option(help="Also simulate how long each barrier takes to cross (minutes).")
    ] = False,
) -> None:
    """Minima, saddles and barriers with error bars.

    Example: uidd landscape runs/mine
    """
    from .._files import write_json
    from ..landscape import survey
    from ..report.run_folder import RunFolder

    folder = RunFolder.open(run)
    ensemble = folder.ensemble()
    found = survey(ensemble, seed=seed)
    _show_minima(found, ensemble)
    _show_barriers(found)
    stored = found.to_dict()
    if rates:
        stored["passage_times"] = _show_rates(found, ensemble, seed)
    path = folder.path / "landscape.json"
    write_json(path, stored)
    print(f"Written to {path}. Next: uidd report {folder.path}")


def _show_minima(found: "Landscape", ensemble: "Ensemble") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Minima of the potential", title_justify="left")
    for name in ("", *ensemble.center.coordinates, "V above the lowest", "softest", "stiffest"):
        table.add_column(name)
    for k, point in enumerate(found.minima):
        table.add_row(
            f"{k + 1}",
            *(f"{value:.4g}" for value in point.x),
            f"{point.energy - found.minima[0].energy:.4g}",
            f"{point.eigenvalues[0]:.3g}",
            f"{point.eigenvalues[-1]:.3g}",
        )
    Console().print(table if found.minima else "No minimum was found.")


def _show_barriers(found: "Landscape") -> None:
    from rich.console import Console
    from rich.table import Table

    if not found.barriers:
        print("There is no barrier." if len(found.minima) < 2 else "No path settled on a saddle.")
        return
    table = Table(title="Barriers (kT)", title_justify="left")
    for name in ("from", "to", "height", "standard error", "way back", "result"):
        table.add_column(name)
    for barrier in found.barriers:
        a, b = found.ends(barrier)
        back = barrier.saddle.energy - barrier.minimum_b.energy if barrier.saddle else float("nan")
        table.add_row(
            f"{a + 1}",
            f"{b + 1}",
            f"{barrier.height:.4g}",
            f"{barrier.standard_error:.2g}",
            f"{back:.4g}",
            barrier.result.code,
        )
    Console().print(table)


def _show_rates(found: "Landscape", ensemble: "Ensemble", seed: int) -> list[dict]:
    from rich.console import Console
    from rich.table import Table

    from ..landscape import passage_time

    unit = ensemble.center.time_unit or "time units"
    table = Table(title=f"Mean first-passage times ({unit})", title_justify="left")
    for name in ("from", "to", "simulated", "standard error", "passages", "Eyring-Kramers", "result"):
        table.add_column(name)
    stored = []
    for barrier in found.barriers:
        a, b = found.ends(barrier)
        for start, end, over in ((a, b, barrier), (b, a, barrier.reversed)):
            time = passage_time(ensemble, over, seed=seed)
            table.add_row(
                f"{start + 1}",
                f"{end + 1}",
                f"{time.mean:.4g}",
                f"{time.standard_error:.2g}",
                f"{time.passages}",
                f"{time.eyring_kramers:.4g}",
                time.result.code,
            )
            stored.append({"from": start + 1, "to": end + 1, **time.to_dict()})
    Console().print(table)
    return stored
