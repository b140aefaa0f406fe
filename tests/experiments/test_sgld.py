"""The study of batch sizes, at toy size, from chains to pictures."""

from dataclasses import replace

import numpy as np
import pytest

from uidd.experiments.sgld import study as sgld
from uidd.experiments.sgld.problems import ica, least_squares
from uidd.training import Plan

PLAN = Plan(20, 64, 5e-3, 10)


def toy(problem):
    return replace(
        problem.sizes["quick"],
        chains=100,
        states=200,
        compared=200,
        plan=PLAN,
        width=4,
        exact=PLAN,
        paths=20,
        every=50,
        settle=0.5,
    )


def test_no_pair_of_one_seed_is_one_of_another():
    problem = least_squares()
    one, other = (problem.pairs(toy(problem), 1, seed) for seed in (0, 10))
    rows = [{tuple(row) for row in part.start.tolist()} for part in (one, other)]
    assert not rows[0] & rows[1]
    assert len(rows[0]) == len(one.dt)


def test_the_burn_in_is_not_among_the_pairs():
    problem = least_squares()
    size = toy(problem)
    late = problem.pairs(size, None, 0).start
    early = problem.pairs(replace(size, burn_in=0), None, 0).start
    # Chains begin with a deviation of 0.6, ten times that of the stationary density.
    assert late.std(axis=0).mean() < 0.5 * early.std(axis=0).mean()


@pytest.mark.slow
@pytest.mark.parametrize("make", [least_squares, ica])
def test_a_study_gives_tables_and_pictures_and_goes_on_where_it_was(make, tmp_path, monkeypatch):
    problem = make()
    problem = replace(problem, sizes={"quick": toy(problem)})
    monkeypatch.setattr(sgld, "BATCH_SIZES", (1, 2, None))
    monkeypatch.setattr(sgld, "FOLLOWED", (1, 2))
    said = []
    table = sgld.reproduce(problem, "quick", tmp_path, seed=0, report=said.append, config={})
    names = {file.name for file in tmp_path.iterdir()}
    assert {"table.md", "figure.png", "paths.png", "results.json", "trials"} <= names
    assert "standard errors apart" in table
    assert len(said) == 3
    monkeypatch.setattr(sgld, "study_batch", None)  # nothing is studied twice
    assert sgld.reproduce(problem, "quick", tmp_path, seed=0, report=said.append, config={}) == table
    stored, _ = sgld.BatchStudy.read(tmp_path / "trials" / "b1.npz")
    assert np.isfinite(stored.figures["rate"])
    assert stored.figures["exact"] > 0
    with pytest.raises(ValueError, match="holds trials"):
        sgld.reproduce(problem, "quick", tmp_path, seed=1, report=said.append, config={})
