"""The bars over rows that are made up: each is missed by the row that breaks it, and by no other."""

import json
import subprocess
import sys

import pytest

from uidd.experiments.population import study as population
from uidd.experiments.population import table
from uidd.experiments.rows import Rows

GOOD = {
    "code": "ok",
    "message": "",
    "z": 0.5,
    "dimension": 2,
    "landscape": "wells",
    "depth": 3.0,
    "noise": "constant",
    "circulation": "local",
    "recording": "paths",
    "starts": "stationary",
    "pairs": 20_000,
    "step": 0.01,
    "truth": 1.0,
    "rate": 1.05,
    "standard_error": 0.1,
    "V_error": 0.1,
    "V_stated": 0.1,
    "linear": False,
    "drift_gain": 50.0,
    "seconds": 20.0,
}


def rows(*broken):
    """A hundred good rows of which five lie just outside of their interval, and some that are not."""
    found = [{**GOOD, "seed": 1000 + k, "z": 2.1 if k < 5 else 0.5} for k in range(100)]
    return found + [{**GOOD, "seed": 2000 + k, **row} for k, row in enumerate(broken)]


def missed(found) -> list[int]:
    return [k for k, bar in enumerate(table.bars(found)) if not bar.met]


@pytest.mark.parametrize(
    ("broken", "which"),
    [
        ((), []),
        (({"z": 3.5}, {"z": -3.5}), [0]),
        (({"z": -2.0},) * 10, [1]),
        (({"z": 4.5},), [2]),
        (({"V_error": 0.31},), [3]),
        (({"V_error": 0.149, "V_stated": 0.0},), []),
        (({"linear": True},), [4]),
        (({"linear": True, "drift_gain": 19.0},), []),
        (({"code": "drift", "z": 30.0},) * 30, [5]),
        (({"seconds": 181.0},), [6]),
        (({"seconds": 900.0, "pairs": 400_000}, {"seconds": 900.0, "dimension": 6}), []),
    ],
)
def test_each_bar_is_missed_by_what_breaks_it(broken, which):
    assert missed(rows(*broken)) == which


def test_table_and_figure_are_made_from_stored_rows(tmp_path):
    failed = {k: GOOD[k] for k in GOOD if k not in ("z", "rate", "standard_error", "V_error", "V_stated")}
    failed |= {"seed": 2000, "code": "failed", "message": "ValueError()"}
    for row in (*rows(), failed):
        path = Rows(tmp_path).path(f"seed{row['seed']}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(row))
    words = table.summarised(tmp_path)
    assert "met     at least 80 % ok" in words
    page, systems = ((tmp_path / name).read_text() for name in ("table.md", "systems.md"))
    assert "| failed | ValueError() |" in page and page.count("| 2-D wells") == 1
    assert "failed: ValueError()" in systems and systems.count("| 2-D wells") == 101
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert table.told(table.stored_rows(tmp_path)[-1]) == "seed 2000, failed, ValueError(), 20 s"


def test_more_tasks_than_workers_could_ever_take_at_once_all_end():
    with population.side_by_side(2) as pool:
        assert list(pool.map(abs, range(-40, 0), timeout=120)) == list(range(40, 0, -1))


def test_workers_end_when_their_pool_is_killed():
    """They hold the pipe of the killed process open as long as they live."""
    code = """
import os, time
from uidd.experiments.population.study import side_by_side
pool = side_by_side(1)
print(pool.submit(os.getpid).result(), flush=True)
pool.submit(time.sleep, 600).result()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0
        parent.kill()
        parent.communicate(timeout=60)
