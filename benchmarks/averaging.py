"""By how much does averaging an ensemble shrink the error of a barrier?

From the stored rows of the double well, a data set each: the root mean square error of the ensemble's mean
over the data sets, that of one member (the mean's error, and its own distance from the mean), and their
ratio.

    python benchmarks/averaging.py docs/results/coverage-h200
"""

import argparse
import json
from pathlib import Path

import numpy as np

BARRIER, NINETY = 10.0, 2 * 1.644854


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = [json.loads(path.read_text()) for path in sorted((folder / "rows").glob("double-well-*.json"))]
    by_case: dict[str, list[dict]] = {}
    for row in rows:
        by_case.setdefault(row["case"], []).append(row["figures"])
    for case, figures in by_case.items():
        names = ("barrier height", "barrier 90 % from", "barrier 90 % to")
        mean, low, high = np.array([[f[name] for name in names] for f in figures], float).T
        spread = (high - low) / NINETY
        kept = np.isfinite(mean) & np.isfinite(spread)
        own = np.sqrt(np.mean((mean[kept] - BARRIER) ** 2))
        member = np.sqrt(own**2 + np.mean(spread[kept] ** 2))
        print(
            f"{case}, {kept.sum()} of {len(kept)} data sets: the barrier of one member is off by "
            f"{member:.3f}, that of the mean by {own:.3f}: averaging gains a factor {member / own:.2f}"
        )


if __name__ == "__main__":
    main()
