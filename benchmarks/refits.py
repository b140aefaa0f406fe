"""Does the ensemble, one step from the solution for each member, spread as full refits of resampled data do?

Trajectories are drawn anew with replacement and fitted from the beginning. Printed: the standard deviation
of the entropy production over the refits, the one that the ensemble of a single fit reports, and the
seconds that either took.

    python benchmarks/refits.py --refits 12
"""

import argparse
import time

import numpy as np

import uidd
from uidd import Trajectories
from uidd.systems import DoubleWell, Linear

CASES = {
    "linear, 1,000 paths of 101 frames": (
        Linear(1.0),
        {"paths": 1000, "frames": 101, "dt": 0.01, "scheme": "exact"},
    ),
    "double well, 100 paths of 500 frames": (DoubleWell(), {"paths": 100, "frames": 500, "dt": 0.05}),
}


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--refits", type=int, default=12)
    refits = parser.parse_args().refits
    for name, (system, size) in CASES.items():
        data = system.simulate(**size, seed=0)
        begun = time.monotonic()
        own = uidd.entropy_production(uidd.fit(data, seed=0, progress=False))
        single, rates, begun = time.monotonic() - begun, [], time.monotonic()
        generator = np.random.default_rng(0)
        for _ in range(refits):
            drawn = generator.integers(len(data.states), size=len(data.states))
            again = Trajectories.from_arrays([data.states[i] for i in drawn], dt=size["dt"])
            rates.append(uidd.entropy_production(uidd.fit(again, seed=0, progress=False)).rate)
        spread = float(np.std(rates, ddof=1))
        print(
            f"{name}: {refits} refits spread by {spread:.3f} +- {spread / (2 * (refits - 1)) ** 0.5:.3f} "
            f"({(time.monotonic() - begun) / single:.1f} times the first fit's seconds); the ensemble says "
            f"{own.standard_error:.3f}; exact {system.entropy_production_rate:.3f}, ours {own.rate:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
