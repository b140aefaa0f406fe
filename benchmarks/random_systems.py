"""How often are the defaults right, unsure, or confidently wrong on systems that nobody chose?

Systems drawn by seeds; seeds below 1000 served development, those from 1000 on are reported.

    python benchmarks/random_systems.py 1000:1200 --workers 16 --out runs/population
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
    from uidd.experiments import population

    first, end = map(int, options.seeds.split(":"))
    folder, command = Path(options.out), f"python benchmarks/random_systems.py {options.seeds}"
    for row in population.run(
        range(first, end), folder, workers=options.workers, peers=options.peers, command=command
    ):
        z = f"z {row['z']:.2f}" if "z" in row else row["message"]
        print(f"seed {row['seed']}, {row['code']}, {z}, {row['seconds']:.0f} s", flush=True)
    for bar in population.bars(population.stored_rows(folder)):
        print(f"{'met   ' if bar.met else 'missed'}  {bar.what}: {bar.found}")
    print(f"Written to {population.write_table(folder)}")


if __name__ == "__main__":
    main()
