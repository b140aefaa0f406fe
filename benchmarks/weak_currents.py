"""How many nats are the currents worth that fits miss, and how many do their errors admit?

Reads stored rows of `uidd benchmark population`. A current that dissipates S is worth S T / 4 nats.

    python benchmarks/weak_currents.py docs/results/population_1700
"""

import argparse
import json
from pathlib import Path

from uidd.systems.population import random_system
from uidd.training.undetected import rate_worth

SHOWN = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with a folder `rows`")
    rows = [
        json.loads(path.read_text()) for path in sorted((parser.parse_args().folder / "rows").glob("*.json"))
    ]
    asked = [
        row for row in rows if row["code"] == "ok" and row["circulation"] != "none" and row["dimension"] > 1
    ]
    head = ("seed", "current", "worth, in nats", "missing", "stated", "z")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in sorted(asked, key=lambda row: row["z"])[:SHOWN]:
        a_nat = rate_worth(1.0, row["total_time"] * random_system(row["seed"]).fastest)
        nats = [value / a_nat for value in (row["truth"], row["truth"] - row["rate"], row["standard_error"])]
        kind = f"{row['circulation']}, {row['dimension']}-D"
        print(f"| {row['seed']} | {kind} | " + " | ".join(f"{n:.1f}" for n in nats) + f" | {row['z']:.2f} |")


if __name__ == "__main__":
    main()
