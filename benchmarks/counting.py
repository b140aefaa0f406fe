"""How fast and how biased is the counting estimator?

Transitions of the linear case at lambda = 1, counted on 40 x 40 bins: seconds for each ten million. Then
the rate, its reversible null and the exact value over bins and amounts of data, with what the automatic
choice of bins gives.

    python benchmarks/counting.py --transitions 50_000_000
"""

import argparse
import time

import uidd
from uidd.systems import Linear


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--transitions", type=int, default=50_000_000)
    wanted = parser.parse_args().transitions
    system = Linear(1.0)
    frames = 1001
    data = system.simulate(wanted // (frames - 1), frames, scheme="exact", stationary=True, seed=0)
    begun = time.monotonic()
    counted = uidd.count_entropy_production(data, 40)
    seconds = time.monotonic() - begun
    print(
        f"{counted.transitions:,} transitions on 40 x 40 bins: {seconds:.1f} s; {counted.rate:.2f} +- "
        f"{counted.standard_error:.2f}, null {counted.null:.2f}, exact {system.entropy_production_rate:.2f}",
        flush=True,
    )
    for paths in (10, 100, 1000, 10_000):
        some = data.select(range(min(paths, len(data))))
        cells = []
        for bins in (5, 10, 20, 40, 80):
            found = uidd.count_entropy_production(some, bins)
            cells.append(f"{found.rate:.1f} ({found.null:.1f})")
        chosen = uidd.count_entropy_production(some)
        print(
            f"{some.pair_count:>11,} transitions, 5 / 10 / 20 / 40 / 80 bins, rate (null): "
            f"{' / '.join(cells)}; chosen {chosen.bins}: {chosen.rate:.2f} +- {chosen.standard_error:.2f} "
            f"(null {chosen.null:.2f}, over bins +- {chosen.bins_spread:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
