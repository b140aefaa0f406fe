"""Stochastic force inference on the recordings of a population: a JSON row a seed beside ours."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ...systems.population import random_system
from ..markdown import markdown_table
from ..rows import Rows

# Seconds after which a peer is stopped.
LIMIT = 300.0
# In stated errors: a rate that is farther off is wrong.
WRONG = 3.0


def rows_of(folder: Path) -> Rows:
    """Where the rows are stored."""
    return Rows(folder, "sfi")


def run(
    seeds: Sequence[int], folder: Path, *, workers: int, limit: float = LIMIT, command: str = ""
) -> Iterator[dict[str, Any]]:
    """Rows as they come; those that are stored are not measured again."""
    left = [seed for seed in seeds if not rows_of(folder).has(f"seed{seed}")]
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_stored, seed, folder, limit, command) for seed in left]
        for job in as_completed(jobs):
            yield job.result()


def _stored(seed: int, folder: Path, limit: float, command: str) -> dict[str, Any]:
    """Measured in a process of its own, which can be stopped."""
    rows, name = rows_of(folder), f"seed{seed}"
    process = get_context("spawn").Process(target=_measure, args=(seed, folder, command))
    process.start()
    process.join(limit)
    message = f"It ended with the code {process.exitcode} and left no result."
    if process.is_alive():
        process.kill()
        process.join()
        message = f"It had not ended after {limit:.0f} s."
    if not rows.has(name):
        rows.write(name, {"seed": seed, "code": "failed", "message": message}, command)
    return rows.read(name)


def _measure(seed: int, folder: Path, command: str) -> None:
    from ..peers import sfi

    system = random_system(seed)
    found, (truth, truth_error) = sfi(system.simulate()), system.entropy_production_rate
    error = float(np.hypot(found.standard_error, truth_error))
    row: dict[str, Any] = {"seed": seed, "code": found.result.code, "message": found.result.message}
    if found.result.successful:
        row |= {"rate": found.rate, "standard_error": found.standard_error, "truth": truth}
        row["z"] = (found.rate - truth) / error if error > 0 else 0.0
    rows_of(folder).write(f"seed{seed}", row, command)


def stored_rows(folder: Path) -> dict[int, dict[str, Any]]:
    """By seed."""
    return {row["seed"]: row for row in rows_of(folder)}


def compared(rows: Sequence[dict[str, Any]], peers: dict[int, dict[str, Any]]) -> str:
    """A Markdown table over the systems that both have met and that can have a current.

    Right is a rate within three stated errors of the truth, wrong one beyond, and unsure a fit that does not
    say `ok` or has no rate. The last column is the median of |rate - truth| / truth of all rates, where there
    is something to find.
    """
    both = [row for row in rows if row["seed"] in peers and row["dimension"] > 1]
    if not both:
        return ""
    truths = {row["seed"]: row["truth"] for row in both}
    methods = {"uidd": both, "SFI": [peers[row["seed"]] for row in both]}
    head = (f"of {len(both)} systems", "right", "unsure", "confidently wrong", "median error")
    lines = []
    for name, found in methods.items():
        sure = [row for row in found if row["code"] == "ok"]
        wrong = sum(abs(row["z"]) > WRONG for row in sure)
        off = [
            abs(row["rate"] - truths[row["seed"]]) / truths[row["seed"]]
            for row in found
            if "rate" in row and truths[row["seed"]] > 0
        ]
        error = f"{np.median(off):.1%}" if off else ""
        counts = (len(sure) - wrong, len(found) - len(sure), wrong)
        lines.append((name, *map(str, counts), error))
    return markdown_table(head, lines)
