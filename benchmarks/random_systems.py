"""How often are the defaults right, unsure, or confidently wrong on systems that nobody chose?

Systems drawn by seeds; seeds below 2801 served development, those from 2801 on are reported.

    python benchmarks/random_systems.py 2801:3001 --workers 16 --out runs/population
"""

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out", default="runs/population")
    options = parser.parse_args()
    from uidd.experiments.population import peers as population_peers
    from uidd.experiments.population import study as population
    from uidd.experiments.population import table

    first, end = map(int, options.seeds.split(":"))
    folder, command = Path(options.out), f"python benchmarks/random_systems.py {options.seeds}"
    for row in population.run(range(first, end), folder, workers=options.workers, command=command):
        print(table.told(row), flush=True)
    if options.peers:
        for row in population_peers.run(range(first, end), folder, workers=options.workers, command=command):
            print(f"SFI, seed {row['seed']}, {row['code']}", flush=True)
    print(table.summarised(folder))


if __name__ == "__main__":
    main()
