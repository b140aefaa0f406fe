"""Do the defaults of likelihood and circulation earn their place?

The same data with the default, with DynGMA's mixture, with Euler's scheme, and with W from networks whose
hidden layers Adam trains, tridiagonal as in the paper or full: the rate over the exact one, its standard
error, and the seconds. A double well at dt .05, and a rotation in the (1, 3) plane of three dimensions.

    python benchmarks/choices.py
"""

import argparse

import rotations
import uidd
from uidd.components import Full, Tridiagonal
from uidd.systems import DoubleWell

CHOICES = {
    "default": {},
    "DynGMA(2, 4)": {"likelihood": uidd.DynGMA(2, 4)},
    "Euler": {"likelihood": uidd.EulerMaruyama()},
    "tridiagonal W": {"circulation": Tridiagonal()},
    "full W": {"circulation": Full()},
}


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--only", nargs="*", default=list(CHOICES))
    only = parser.parse_args().only
    well = DoubleWell()
    cases = {
        "double well": (well.simulate(100, 1000, 0.05, seed=0), well.entropy_production_rate),
        "rotation": (rotations.paths(3, (0, 2), pairs=100_000, seed=0), rotations.RATE),
    }
    for case, (data, truth) in cases.items():
        for name in only:
            fit = uidd.fit(data, seed=0, progress=False, **CHOICES[name])
            found = uidd.entropy_production(fit)
            print(
                f"{case}, {name}: EPR / exact {found.rate / truth:.3f} +- "
                f"{found.standard_error / truth:.3f}  {fit.result}, {found.result.code}, {fit.seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
