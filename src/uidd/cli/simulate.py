"""`uidd simulate`: data with a known answer."""

from pathlib import Path
from typing import Annotated

import typer

from .._checks import InputError
from .options import Seed, among


def _systems() -> list[str]:
    from ..systems import SYSTEMS

    return list(SYSTEMS)


def simulate(
    system: Annotated[
        str, typer.Argument(help="A system of the package, such as linear.", callback=among(_systems))
    ],
    out: Annotated[str, typer.Option(help="The .npz file to write.", metavar="FILE")] = "data.npz",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the system, such as strength=0.5.", metavar="NAME=VALUE"),
    ] = None,
    paths: Annotated[int | None, typer.Option(help="How many paths.", min=1)] = None,
    frames: Annotated[int | None, typer.Option(help="Frames a path.", min=2)] = None,
    dt: Annotated[float | None, typer.Option(help="Time between two frames.")] = None,
    seed: Seed = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Simulate a known system; prints its exact answer.

    Example: uidd simulate linear --set strength=0.5 --out data.npz
    """
    from dataclasses import fields

    from .._checks import one_of
    from ..data import save_trajectories
    from ..systems import SYSTEMS

    if Path(out).exists() and not overwrite:
        raise InputError(f"'{out}' exists already. Choose another --out, or --overwrite it.")
    known = [field.name for field in fields(SYSTEMS[system]())]  # pyright: ignore[reportArgumentType]
    settings = {}
    for item in parameter or []:
        name, _, value = item.partition("=")
        one_of("--set", name, known)
        try:
            settings[name] = float(value)
        except ValueError:
            raise InputError(f"`--set {name}` must be a number; got {value!r}.") from None
    chosen = SYSTEMS[system](**settings)
    sizes = {
        name: value for name, value in (("paths", paths), ("frames", frames), ("dt", dt)) if value is not None
    }
    data = chosen.simulate(**sizes, seed=seed)  # pyright: ignore[reportArgumentType]
    save_trajectories(data, out)
    print(f"{data} written to {out}")
    print(f"Exact entropy production rate: {chosen.entropy_production_rate:.6g}")
