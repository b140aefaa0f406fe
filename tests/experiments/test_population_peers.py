"""A peer beside the rows of a population: what counts as right, and that a slow one is stopped."""

import json

import pytest

from uidd.experiments.population import peers as population_peers
from uidd.experiments.population.peers import compared

OURS = {"dimension": 2, "code": "ok", "truth": 2.0, "rate": 2.1, "z": 0.5}
THEIRS = {"code": "ok", "rate": 1.0, "z": -2.0}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_right_unsure_and_wrong_are_counted():
    """Ten systems: two of ours say what is wrong with them, one rate is wrong; three of theirs are wrong and
    one has none. Errors: .05 of ours; .5 of theirs."""
    ours = [{**OURS, "seed": k} for k in range(7)]
    ours += [{**OURS, "seed": 7, "z": 3.1}] + [{**OURS, "seed": k, "code": "drift", "z": 9.0} for k in (8, 9)]
    theirs = {k: {**THEIRS, "seed": k, "z": -4.0 if k < 3 else 1.0} for k in range(9)}
    theirs[9] = {"seed": 9, "code": "failed", "message": "It had not ended after 300 s."}
    title, _, we, they = map(cells, compared(ours, theirs).splitlines())
    assert title[0] == "of 10 systems"
    assert we == ["uidd", "7", "2", "1", "5.0%"]
    assert they == ["SFI", "6", "1", "3", "50.0%"]


def test_systems_without_a_current_to_find_and_those_of_one_side_alone_do_not_count():
    ours = [{**OURS, "seed": 0, "dimension": 1}, {**OURS, "seed": 1}]
    assert compared(ours, {0: {**THEIRS, "seed": 0}}) == ""
    null = [{**OURS, "seed": 0, "truth": 0.0}]
    assert cells(compared(null, {0: {**THEIRS, "seed": 0}}).splitlines()[2])[-1] == ""


@pytest.mark.slow
def test_a_peer_that_does_not_end_is_stopped(tmp_path):
    (row,) = population_peers.run([2600], tmp_path, workers=1, limit=0.05)
    assert row["code"] == "failed" and "had not ended" in row["message"]
    assert json.loads(population_peers.rows_of(tmp_path).path("seed2600").read_text())["seed"] == 2600
    assert list(population_peers.run([2600], tmp_path, workers=1)) == []
