"""`uidd demo`: the whole way on the paper's linear case."""

from .._checks import InputError
from .options import NoCache, Out, Overwrite, Quiet, Seed


def demo(
    out: Out = "runs/demo",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    no_cache: NoCache = False,
) -> None:
    """The whole way on the paper's linear case, in two minutes.

    Example: uidd demo --out runs/demo
    """
    from ..experiments import demo as experiment
    from ..models.provenance import command
    from ..report import render_page
    from ..report.run_folder import RunFolder
    from .analyze import analyzed, show
    from .fit import how_it_went

    run = RunFolder.create(out, overwrite=overwrite)
    print("1/4  simulate: 10,000 paths of the paper's linear case (lambda = 1, exact, frames 0.01 apart)")
    system, data = experiment.make_data(seed)
    config = {**experiment.config(system, seed), "command": command()}
    run.begin(config)
    print(f"     {data}")
    print("2/4  fit")
    fit = experiment.train(data, seed, checkpoint=run.checkpoint_file, progress=not quiet)
    if fit.result == "interrupted":
        raise InputError(f"{fit.result.message} Run the demo again with --overwrite.")
    run.write_fit(fit, config)
    print(f"     {how_it_went(fit)}")
    print("3/4  sample the stationary density and analyse")
    analysis = analyzed(run, seed)
    print("4/4  report")
    page = run.write_report(render_page(run, analysis))
    show(analysis, config["exact"])
    rate = analysis.entropy_production
    print(f"\nEntropy production: learned {rate}, exact {system.entropy_production_rate:.6g}")
    print(f"Look at {page}")
