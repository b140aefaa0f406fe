"""The comparison of models: its measures against numbers by hand, and a run from stored trials."""

import json

import jax
import numpy as np
import pytest

from uidd import InputError
from uidd.baselines import OnsagerNet
from uidd.experiments.identifiability import study as identifiability
from uidd.experiments.identifiability.cases import CASES, MODELS, SIZES
from uidd.experiments.identifiability.study import agreement, reproduce, variation
from uidd.experiments.identifiability.trials import Trial, freedom, seen, trial_file

SIZE = SIZES["quick"]


def made_up(case, model, seed, scale=1.0):
    """Exact fields times a number that depends on the seed."""
    dynamics, points = CASES[case].system.dynamics, CASES[case].draw(np.random.default_rng(7), 20)
    _, gradient, irreversible = seen(dynamics, points)
    figures = {
        "test_loss": -1.0,
        "drift_error": 0.1,
        "gradient_error": 0.1,
        "rate": 2.0 + seed,
        "rate_error": 0.1,
        "result": "ok",
        "barrier": 3.0 if seed else float("nan"),
        "gauge_drift": 1e-16,
        "gauge_gradient": 0.5,
        "limit": [1.0, 0.1, 0.01, 0.001],
    }
    grid = np.linspace([-1, -1], [1, 1], SIZE.bins).T
    surface = grid[0][:, None] ** 2 + grid[1] ** 2
    factor = 1 + scale * seed
    return Trial(case, model, seed, figures, factor * gradient, factor * irreversible, surface, grid)


def test_the_variation_is_variance_over_squared_mean():
    fields = np.array([[[3.0, 4.0], [1.0, 0.0]], [[3.0, 6.0], [1.0, 0.0]]])
    # At the first point the variance is 1 and the squared mean 34; at the second nothing varies.
    by_point, pooled = variation(fields)
    assert by_point == pytest.approx((1 / 34) / 2)
    assert pooled == pytest.approx(1 / 35)
    assert np.isnan(variation(np.zeros((2, 3, 2)))).all()


def test_seeds_that_differ_by_a_factor_vary_by_its_variance():
    # Factors 1 and 3: mean 2, variance 1, at every point the ratio is 1/4.
    found = agreement([made_up("linear", "ours", k, scale=2.0) for k in (0, 1)])
    assert found.gradient == pytest.approx(0.25) and found.gradient_pooled == pytest.approx(0.25)
    assert found.irreversible == pytest.approx(0.25)
    assert found.rate == pytest.approx(0.25 / 2.5**2) and found.mean_rate == 2.5
    assert found.barriers == 1 and found.mean_barrier == 3.0 and np.isnan(found.barrier)


def test_seeds_that_agree_do_not_vary():
    found = agreement([made_up("driven wells", "ours", k, scale=0.0) for k in (0, 1)])
    assert found.gradient == 0 and found.irreversible == 0


def test_a_trial_is_read_as_it_was_written(tmp_path):
    one = made_up("double well", "OnsagerNet", 1)
    path = trial_file(tmp_path, one.case, one.model, one.seed)
    one.write(path, {"size": "quick"})
    again, made_by = Trial.read(path)
    assert made_by == {"size": "quick"} and again.figures == one.figures
    assert np.allclose(again.gradient, one.gradient, rtol=1e-6)
    path.write_bytes(b"half a file")
    with pytest.raises(InputError, match="is not a readable trial"):
        Trial.read(path)


def stored(folder, size="quick"):
    for case, model, seed in SIZE.trials():
        made_up(case, model, seed).write(trial_file(folder, case, model, seed), {"size": size})


def test_a_run_goes_on_from_what_is_stored(tmp_path, monkeypatch):
    stored(tmp_path)

    def never(*_):
        raise AssertionError("a stored trial was fitted again")

    monkeypatch.setattr(identifiability, "trial", never)
    words = []
    made = reproduce("quick", tmp_path, seed=0, report=words.append, config={})
    assert len(words) == len(list(SIZE.trials()))
    for name in MODELS:
        assert f"| {name} |" in made
    assert "Gauge: 6 trained OnsagerNets" in made and "In equilibrium ours is Stat-PINNs" in made
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["agreement"]) == 3 * len(MODELS) + 2 * len(SIZE.at_rest)
    pictures = sorted(tmp_path.glob("potentials-*.png"))
    assert len(pictures) == 3 and all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)


@pytest.mark.parametrize(("size", "seed"), [("paper", 0), ("quick", 1)])
def test_trials_of_another_run_are_not_mixed_in(tmp_path, size, seed):
    stored(tmp_path, size=size)
    with pytest.raises(InputError, match="Choose another --out, or --overwrite it"):
        reproduce("quick", tmp_path, seed=seed, report=print, config={})


def test_the_gauge_keeps_the_drift_and_the_temperature_form_tends_to_it():
    net = OnsagerNet().build(3, key=jax.random.key(0))
    found = freedom(net, np.random.default_rng(0).normal(size=(50, 3)))
    assert found["gauge_drift"] < 1e-14 < 0.1 < found["gauge_gradient"]
    # Proportional to T: ratios of ten, up to rounding.
    assert np.allclose(np.divide(found["limit"][:-1], found["limit"][1:]), 10, rtol=1e-9)
