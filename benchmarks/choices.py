"""Does the default likelihood earn its place?

A double well at dt .05 with the default, with DynGMA's mixture and with Euler's scheme: the rate over the
exact one, its standard error, the seconds.

    python benchmarks/choices.py
"""

import argparse

import uidd
from uidd.systems import DoubleWell

CHOICES = {
    "default": {},
    "DynGMA(2, 4)": {"likelihood": uidd.DynGMA(2, 4)},
    "Euler": {"likelihood": uidd.EulerMaruyama()},
}


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--only", nargs="*", default=list(CHOICES))
    only = parser.parse_args().only
    well = DoubleWell()
    data, truth = well.simulate(100, 1000, 0.05, seed=0), well.entropy_production_rate
    for name in only:
        fit = uidd.fit(data, seed=0, progress=False, **CHOICES[name])
        found = uidd.entropy_production(fit)
        print(
            f"double well, {name}: EPR / exact {found.rate / truth:.3f} +- "
            f"{found.standard_error / truth:.3f}  {fit.result}, {found.result.code}, {fit.seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
