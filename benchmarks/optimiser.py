"""How long until V is right: Gauss-Newton steps on drawn units, or Adam on all weights?

The double well, 100 paths of 1,000 frames, dt .05, the same data and likelihood. Printed for the default,
and for the paper's networks trained by Adam for ever more steps: seconds, the relative error of V on {V <
10}, and that of the entropy production.

    python benchmarks/optimiser.py
"""

import argparse
import time
from dataclasses import replace

import uidd
from uidd.experiments.accuracy.figures import double_well_figures
from uidd.systems import DoubleWell


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--steps", nargs="*", type=int, default=[500, 2000, 8000])
    steps = parser.parse_args().steps
    system = DoubleWell()
    data = system.simulate(100, 1000, 0.05, seed=0)
    truth = system.entropy_production_rate

    def show(name: str, **options) -> None:
        begun = time.monotonic()
        fit = uidd.fit(data, seed=0, progress=False, **options)
        rate = uidd.entropy_production(fit, draws=20_000).rate
        seconds = time.monotonic() - begun
        V = double_well_figures(system, fit, data)["V"]
        print(
            f"{name}: {seconds:.0f} s, V off by {V:.3f}, EPR by {rate / truth - 1:+.1%}  {fit.result}",
            flush=True,
        )

    show("drawn units, Gauss-Newton (default)")
    for count in steps:
        show(
            f"paper's networks, Adam, {count} steps",
            architecture="sgld",
            plan=replace(uidd.Plan(), steps=count),
        )


if __name__ == "__main__":
    main()
