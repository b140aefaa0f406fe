"""`uidd fit`: learn a model from a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._checks import InputError, fail
from .options import NoCache, Out, Overwrite, Quiet, Seed, among

if TYPE_CHECKING:
    from ..training import Fit


def _architectures() -> list[str]:
    from ..models import ARCHITECTURES

    return list(ARCHITECTURES)


def fit(
    data: Annotated[
        str | None, typer.Argument(help="Trajectories: .csv .tsv .parquet .npz .npy .h5", metavar="DATA")
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Time between two frames.")] = None,
    out: Out = "runs/fit",
    columns: Annotated[str | None, typer.Option(help="Coordinates, separated by commas.")] = None,
    time: Annotated[str | None, typer.Option(help="Column or key of the time stamps.")] = None,
    trajectory: Annotated[
        str | None, typer.Option(help="Column or key that tells trajectories apart.")
    ] = None,
    max_step: Annotated[float | None, typer.Option(help="A longer step counts as a gap.")] = None,
    time_unit: Annotated[str | None, typer.Option(help="Unit of time, for labels.")] = None,
    units: Annotated[str | None, typer.Option(help="Units of the coordinates, separated by commas.")] = None,
    architecture: Annotated[
        str, typer.Option(help="Networks: default, linear, polymer or sgld.", callback=among(_architectures))
    ] = "default",
    steps: Annotated[
        int, typer.Option(help="The most steps of Adam, for linear, polymer and sgld.", min=1)
    ] = 4000,
    batch: Annotated[int, typer.Option(help="Pairs a step of Adam.", min=1)] = 2048,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run in --out.")] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    no_cache: NoCache = False,
) -> None:
    """Learn a model from trajectories.

    Example: uidd fit tracks.csv --dt 0.01 --out runs/mine
    """
    from ..models.provenance import command
    from ..report.run_folder import RunFolder

    if resume:
        if data is not None:
            raise InputError("`--resume` goes on with the data and options of the run; give only --out.")
        run = RunFolder.open(out)
        if run.model_file.exists():
            print(f"The run in {out} is complete. Next: uidd analyze {out}")
            return
        _train(run, run.config(), resume=True, quiet=quiet)
        return
    if data is None:
        raise typer.BadParameter("give the file with the trajectories, or --resume a run.", param_hint="DATA")
    config: dict[str, Any] = {
        "data": {
            "path": str(Path(data).resolve()),
            "dt": dt,
            "columns": columns.split(",") if columns else None,
            "time": time,
            "trajectory": trajectory,
            "max_step": max_step,
        },
        "time_unit": time_unit,
        "units": units.split(",") if units else None,
        "architecture": architecture,
        "steps": steps,
        "batch": batch,
        "seed": seed,
        "command": command(),
    }
    _train(RunFolder.create(out, overwrite=overwrite), config, resume=False, quiet=quiet)


def _train(run: Any, config: dict[str, Any], *, resume: bool, quiet: bool) -> None:
    from dataclasses import replace

    from ..data import load_trajectories
    from ..training import Plan
    from ..training import fit as train

    if not isinstance(config.get("data"), dict):
        raise InputError(f"The run in '{run.path}' was not made by `uidd fit`; run its own command again.")
    options = dict(config["data"])
    trajectories = load_trajectories(options.pop("path"), **options)
    if config["time_unit"] is not None:
        trajectories = replace(trajectories, time_unit=config["time_unit"])
    if config["units"] is not None:
        if len(config["units"]) != trajectories.dimension:
            fail("--units", f"{trajectories.dimension} units, one a coordinate", ",".join(config["units"]))
        trajectories = replace(trajectories, units=tuple(config["units"]))
    print(f"{trajectories}; coordinates {', '.join(trajectories.coordinates)}")
    if not resume:
        run.begin(config)
    fit = train(
        trajectories,
        seed=config["seed"],
        architecture=str(config["architecture"]),
        plan=Plan(steps=config["steps"], batch=config["batch"]),
        checkpoint=run.checkpoint_file,
        resume=resume,
        progress=not quiet,
    )
    if fit.result.code == "interrupted":
        raise InputError(f"{fit.result.message} Go on with: uidd fit --resume --out {run.path}")
    run.write_fit(fit, config)
    print(f"Training: {how_it_went(fit)}")
    print(f"Model in {run.model_file}. Next: uidd analyze {run.path}")


def how_it_went(fit: "Fit") -> str:
    """One line on how training ended and what is in the model."""
    called = {"drift": "a nonlinear drift", "noise": "noise that varies"}
    found = [called[test.what] for test in fit.tests if test.called_for]
    if fit.tests:
        what = (
            f"the data call for {' and '.join(found)}" if found else "linear model; the data call for no more"
        )
    else:
        what = (
            f"weights of epoch {fit.kept.epoch}"
            if fit.kept.epoch
            else "the linear start, which networks did not beat"
        )
    return f"{fit.result}; {what}; likelihood {fit.likelihood}; {fit.seconds:.0f} s"
