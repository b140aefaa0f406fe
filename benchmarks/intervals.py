"""Are intervals honest for one long trajectory, for few, for correlated frames, for short recordings?

The trap with e = .3 (EPR .18, exact draws), 20 fresh data sets for every kind of recording: in how many the
90 % interval holds the truth, the root mean square of the errors in reported standard errors, and the rate
over the truth.

    python benchmarks/intervals.py
"""

import argparse

import numpy as np

import uidd
from uidd.systems import Trap

KINDS = {
    "one trajectory of 40,000 frames": {"paths": 1, "frames": 40_000, "dt": 0.05},
    "three trajectories of 13,000 frames": {"paths": 3, "frames": 13_000, "dt": 0.05},
    "one of 40,000 frames, 1,000 a relaxation": {"paths": 1, "frames": 40_000, "dt": 0.001},
    "one of 2,000 frames, five a relaxation": {"paths": 1, "frames": 2000, "dt": 0.2},
    "400 trajectories of 101 frames": {"paths": 400, "frames": 101, "dt": 0.05},
}
NINETY = 1.644854


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--data-sets", type=int, default=20)
    count = parser.parse_args().data_sets
    system = Trap(0.3)
    truth = system.entropy_production_rate
    for name, size in KINDS.items():
        found = []
        for seed in range(count):
            fit = uidd.fit(system.simulate(**size, seed=seed), seed=0, progress=False)
            estimate = uidd.entropy_production(fit, draws=20_000)
            found.append((estimate.rate, estimate.standard_error))
        rate, error = np.array(found).T
        z = (rate - truth) / error
        print(
            f"{name}: {np.sum(np.abs(z) < NINETY)} of {count} cover, "
            f"rms {np.sqrt(np.mean(z**2)):.2f} reported errors, "
            f"rate / exact {rate.mean() / truth:.2f} +- {rate.std() / truth:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
