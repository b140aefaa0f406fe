"""The accuracy suite with fits that are known: its bars, errors, coverage, table and command."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from uidd import Result, Trajectories
from uidd.cli.main import run as command
from uidd.dynamics import ClosedFormDynamics
from uidd.experiments.accuracy import study as accuracy
from uidd.experiments.accuracy import table as accuracy_table
from uidd.experiments.accuracy.cases import CASES, COVERAGE_CASES, COVERAGE_DATA_SETS, DYNGMA_LEAST, Bar
from uidd.experiments.accuracy.figures import barrier, even_grid
from uidd.experiments.peers import linear_fit
from uidd.experiments.rows import Rows
from uidd.systems import DoubleWell
from uidd.thermodynamics import Estimate

DATA = Trajectories.from_arrays(np.random.default_rng(0).standard_normal((4, 26, 2)), dt=0.1)
TINY = {"paths": 3, "frames": 5}


def exact_fit(system, members=4):
    """A fit that found the system itself."""
    return SimpleNamespace(model=system.dynamics, models=(system.dynamics,) * members, result=Result())


def exact_row(name, data=DATA, **known):
    """A case with the exact model and the exact rate."""
    case = CASES[name]
    estimate = Estimate(case.system.entropy_production_rate, 1e-3)
    return accuracy.judged(case, data, exact_fit(case.system), estimate, **known)


def verdict(bar, rate, error, *, truth=1.0, figures=None, sfi=None):
    """Whether a bar is met by an estimate over T = 100."""
    peers = {"SFI": {"rate": sfi}} if sfi is not None else {}
    return accuracy.judge(bar, truth, Estimate(rate, error), 100.0, figures or {}, peers).met


def test_every_bar_of_the_issue_is_in_the_suite():
    """The table of the issue, line by line: case, quantity, kind, limit."""
    asked = [
        *((f"linear-{k}", "EPR", "relative", 0.01) for k in ("1", "0.5", "0.25")),
        *((name, "EPR", "null", 20) for name in ("linear-0", "trap-0", "muller-brown")),
        *((f"beads-2-dt{dt}", "EPR", "relative", e) for dt, e in ((0.01, 0.02), (0.1, 0.03), (0.5, 0.1))),
        ("beads-5", "EPR", "spreads", 2),
        ("trap-0.3", "EPR", "peer", 1),
        ("trap-0.3", "EPR", "covers", 1.959964),
        *(("double-well-dt0.02", *bar) for bar in (("EPR", "relative", 0.03), ("barrier", "below", 0.05))),
        *(("double-well-dt0.05", *bar) for bar in (("EPR", "relative", 0.05), ("barrier", "below", 0.08))),
        *((f"double-well-dt{dt}", "V", "below", e) for dt, e in ((0.02, 0.05), (0.05, 0.08))),
        *((f"double-well-dt{dt}", "barrier deviations", "below", 1.644854) for dt in (0.02, 0.05)),
        *((f"metastable-h{h}", "drift", "below", e) for h, e in ((0.05, 0.046), (0.1, 0.044), (0.2, 0.075))),
        *((f"metastable-h{h}", "sigma", "below", e) for h, e in ((0.05, 0.0099), (0.1, 0.0052))),
        ("metastable-h0.2", "sigma", "below", 0.0377),
        *((f"metastable-h{h}", "V", "below", e) for h, e in ((0.05, 0.053), (0.1, 0.076), (0.2, 0.087))),
        ("muller-brown", "force NMSE", "below", 0.1),
        ("varying-noise", "EPR", "relative", 0.03),
        ("varying-noise", "sigma", "below", 0.03),
        ("varying-noise", "V", "below", 0.05),
        *((name, "seconds", "below", 180) for name in CASES),
    ]
    held = {(name, bar.quantity, bar.kind, bar.limit) for name, case in CASES.items() for bar in case.bars}
    assert held == set(asked)
    assert (DYNGMA_LEAST, COVERAGE_DATA_SETS) == (7, 20)
    assert {name.split("-")[0] for name in COVERAGE_CASES} == {"linear", "double", "varying"}


def test_the_cases_have_the_sizes_of_the_benchmarks():
    sizes = {name: case.size for name, case in CASES.items()}
    assert sizes["linear-1"] == {"paths": 10_000, "frames": 101, "dt": 0.01, "scheme": "exact"}
    assert all(
        s["paths"] * (s["frames"] - 1) == 500_000 for n, s in sizes.items() if n.startswith("beads-2-")
    )
    assert [sizes[f"metastable-h{h}"]["paths"] for h in (0.05, 0.1, 0.2)] == [2000, 4000, 8000]
    assert all(s["dt"] * (s["frames"] - 1) == pytest.approx(1) for n, s in sizes.items() if n[:4] == "meta")
    assert sizes["muller-brown"]["frames"] == 15_001 and sizes["trap-0.3"]["frames"] == 320_000


def test_a_relative_bar_is_met_up_to_its_limit():
    bar = Bar("EPR", "relative", 0.01)
    assert verdict(bar, 1.0099, 1.0) and not verdict(bar, 0.9899, 1.0) and not verdict(bar, np.nan, 1.0)


def test_a_null_bar_needs_zero_inside_and_an_upper_end_below_twenty_over_time():
    bar = Bar("EPR", "null", 20)  # 20 / T = .2
    assert verdict(bar, 0.05, 0.05, truth=0.0)
    assert not verdict(bar, 0.05, 0.01, truth=0.0)  # 0 is outside
    assert not verdict(bar, 0.05, 0.1, truth=0.0)  # ends at .246
    assert not verdict(bar, np.nan, 0.1, truth=0.0)


def test_spreads_covering_and_figures_are_judged():
    """The irreducible spread of a rate 1 over T = 100 is sqrt(2/100 + (2/100)^2) = .1428."""
    assert verdict(Bar("EPR", "spreads", 2), 1.28, 1.0) and not verdict(Bar("EPR", "spreads", 2), 1.29, 1.0)
    covers = Bar("EPR", "covers", 1.96)
    assert verdict(covers, 1.19, 0.1) and not verdict(covers, 1.2, 0.1) and not verdict(covers, 1.0, np.nan)
    below = Bar("V", "below", 0.05)
    assert verdict(below, 1, 1, figures={"V": 0.049}) and not verdict(below, 1, 1, figures={"V": np.nan})


def test_a_peer_bar_is_open_without_the_peer():
    bar = Bar("EPR", "peer", 1)
    assert verdict(bar, 1.05, 1.0, sfi=0.9) and not verdict(bar, 1.05, 1.0, sfi=1.01)
    assert verdict(bar, 1.05, 1.0) is None


@pytest.mark.parametrize(
    "name", ["linear-1", "linear-0", "double-well-dt0.02", "metastable-h0.1", "muller-brown", "varying-noise"]
)
def test_the_exact_model_has_no_errors_and_meets_its_bars(name):
    row = exact_row(name)
    fields = {k: v for k, v in row.figures.items() if k.split()[0] in ("V", "drift", "sigma", "f_irr")}
    assert len(fields) >= 4
    assert max(fields.values()) < 1e-5
    assert row.error == 0 and row.covered and row.total_time == pytest.approx(10)
    assert (row.noise_floor is None) == (row.truth > 0)
    judged = [bar for bar in row.bars if bar.quantity != "barrier deviations"]
    assert all(bar.met for bar in judged), judged


def test_the_barrier_of_the_double_well_is_ten():
    figures = exact_row("double-well-dt0.02").figures
    assert figures["barrier height"] == pytest.approx(10, abs=1e-4)
    assert figures["barriers found"] == 1


def test_the_interval_of_the_barrier_is_that_of_the_ensemble():
    """Members with V scaled by .9 and 1.1 have barriers 9 and 11, of mean 10 and deviation sqrt(2)."""
    system = DoubleWell()
    members = (_scaled(system, 0.9), _scaled(system, 1.1))
    fit = SimpleNamespace(model=system.dynamics, models=members, result=Result())
    row = accuracy.judged(CASES["double-well-dt0.02"], DATA, fit, Estimate(2.0, 0.1))
    assert row.figures["barrier 90 % to"] == pytest.approx(10 + 1.644854 * 2**0.5, abs=1e-3)
    assert {bar.quantity: bar.met for bar in row.bars}["barrier deviations"]
    assert not {bar.quantity: bar.met for bar in row.bars}["EPR"]


def _scaled(system, scale):
    d = system.dynamics
    return ClosedFormDynamics(lambda z: scale * d.potential(z), d.diffusion, d.circulation)


def test_a_barrier_is_found_from_rough_guesses_and_a_bowl_has_none():
    system = DoubleWell()
    rough = system.minima + np.array([[0.2, -0.1], [-0.1, 0.2]])
    height = barrier(system.dynamics.potential, rough, system.saddles[0] + [0.1, -0.1])
    assert height == pytest.approx(10, abs=1e-6)
    bowl = lambda z: jnp.sum((z - 1.5) ** 2)  # noqa: E731
    assert np.isnan(barrier(bowl, system.minima, system.saddles[0]))


def test_a_potential_off_by_a_tenth_has_an_error_of_a_tenth():
    system = DoubleWell()
    fit = SimpleNamespace(model=_scaled(system, 1.1), models=(system.dynamics,) * 2, result=Result())
    row = accuracy.judged(CASES["double-well-dt0.02"], DATA, fit, Estimate(2.16757, 0.1))
    assert row.figures["V"] == pytest.approx(0.1, rel=1e-4)
    assert [bar.met for bar in row.bars if bar.quantity == "V"] == [False]


def test_the_grid_is_made_of_midpoints():
    np.testing.assert_allclose(even_grid(((0, 2), (0, 4)), 2), [[0.5, 1], [0.5, 3], [1.5, 1], [1.5, 3]])


def estimator_of(rates, error=0.1):
    """The exact model, and for each seed the given rate."""

    def estimate(data, seed):
        return exact_fit(CASES["trap-0.3"].system), Estimate(rates[seed], error)

    return estimate


@pytest.fixture
def tiny(monkeypatch):
    """The traps with a few frames."""
    for name in ("trap-0.3", "trap-0"):
        monkeypatch.setitem(CASES, name, replace(CASES[name], size=TINY))
    return CASES["trap-0.3"]


def test_coverage_and_errors_are_counted_over_data_sets(tiny, tmp_path):
    """The truth is .18; 1.645 errors are .1645."""
    estimate = estimator_of([0.18, 0.3, 0.35, 0.0])
    assert len(list(accuracy.run([tiny], tmp_path, seeds=range(4), estimator=estimate))) == 4
    (summary,) = accuracy_table.summaries(accuracy_table.stored_rows(tmp_path))
    assert (summary.count, summary.covered) == (4, 2)
    errors = np.array([0.0, 0.12, 0.17, -0.18]) / 0.18
    assert summary.mean_error == pytest.approx(errors.mean())
    assert summary.rms_error == pytest.approx(np.sqrt((errors**2).mean()))
    assert summary.standard_error == pytest.approx(0.1 / 0.18)


@pytest.mark.parametrize(("missed", "met"), [(5, True), (6, False)])
def test_coverage_is_judged_over_twenty_data_sets(missed, met):
    """15 of 20 is 75 %."""
    rows = [exact_row("linear-1", seed=k).to_dict() | {"covered": k >= missed} for k in range(20)]
    assert accuracy_table.summaries(rows)[0].met is met
    assert accuracy_table.summaries(rows[:19])[0].met is None


def test_seven_of_the_nine_errors_must_beat_dyngma():
    rows = [exact_row(f"metastable-h{h}").to_dict() for h in (0.05, 0.1, 0.2)]
    for k, bar in enumerate([bar for row in rows for bar in row["bars"] if bar["shared"]]):
        bar["met"] = k >= 2
    (shared,) = [v for v in accuracy_table.verdicts(rows) if v[0] == "metastable"]
    assert shared[2:] == ("7 of 9", "7 of 9", True)
    rows[2]["bars"][0]["met"] = False
    assert [v[-1] for v in accuracy_table.verdicts(rows) if v[0] == "metastable"] == [False]
    assert [v[-1] for v in accuracy_table.verdicts(rows[:2]) if v[0] == "metastable"] == [None]


def test_rows_accumulate_and_the_table_is_made_of_all_of_them(tiny, tmp_path):
    list(accuracy.run([CASES["trap-0"]], tmp_path, estimator=estimator_of([0.001])))
    list(accuracy.run([tiny], tmp_path, command="uidd ...", estimator=estimator_of([0.2])))
    page = accuracy_table.write_table(tmp_path).read_text()
    assert "| trap-0.3 | 0.01 | 12 | 0.18 | 0.2 +- 0.1 (0.004004 to 0.396) | +11.11 % |" in page
    assert page.index("| trap-0.3 |") < page.index("| trap-0 |")
    assert "| trap-0.3 | EPR at least as close as SFI | 0.02 | run with --peers | open |" in page
    stored = json.loads(Rows(tmp_path).path("trap-0.3-seed0").read_text())
    assert stored["command"] == "uidd ..." and stored["seed"] == 0 and "jax" in stored["environment"]
    assert stored["ours"]["interval"] == pytest.approx([0.004004, 0.395996], abs=1e-5)


def test_a_row_without_peers_keeps_those_of_the_same_data(tiny, tmp_path):
    (row,) = accuracy.run([tiny], tmp_path, estimator=estimator_of([0.2]))
    row["peers"] = {"SFI": {**Estimate(0.25, 0.1).to_dict(), "error": 0.07 / 0.18}}
    Rows(tmp_path).path(f"{tiny.name}-seed0").write_text(json.dumps(row))
    (again,) = accuracy.run([tiny], tmp_path, estimator=estimator_of([0.2]))
    assert [bar["met"] for bar in again["bars"] if bar["kind"] == "peer"] == [True]
    assert "+38.89 %" in accuracy_table.table([again])
    assert "SFI 0.25 +- 0.1 (+38.89 %)" in accuracy_table.line(again)


def test_a_failed_estimate_is_a_row_that_meets_nothing(tiny, tmp_path):
    (row,) = accuracy.run([tiny], tmp_path, estimator=estimator_of([np.nan], np.nan))
    assert row["error"] is None and not row["covered"]
    assert not any(bar["met"] for bar in row["bars"] if bar["quantity"] == "EPR")
    assert "| - (- to -) | - |" in accuracy_table.table([row])


def test_lines_are_legible(tiny, tmp_path):
    (row,) = accuracy.run([tiny], tmp_path, seeds=[19], estimator=estimator_of({19: 0.2}))
    first, *others = accuracy_table.line(row).splitlines()
    assert max(map(len, (first, *others))) == len(first) == len(accuracy_table.HEAD) <= 100
    assert first.startswith("trap-0.3 #19")


def test_the_command_measures_prints_and_rewrites_the_table(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("uidd.fit", lambda data, seed: exact_fit(tiny.system), raising=False)
    monkeypatch.setattr("uidd.entropy_production", lambda fit: Estimate(0.2, 0.1), raising=False)
    words = ["uidd", "benchmark", "accuracy", "--only", "trap-0.3", "--out", str(tmp_path)]
    printed = _called([*words, "--repeats", "2"], monkeypatch, capsys)
    assert "trap-0.3 #1" in printed and "2 data sets: mean error +11.11 %" in printed
    assert "Bars: 2 met, 0 missed, 1 open." in printed
    before = (tmp_path / "table.md").read_text()
    (tmp_path / "table.md").unlink()
    assert "Bars: 2 met" in _called([*words, "--table-only"], monkeypatch, capsys)
    assert (tmp_path / "table.md").read_text() == before


def _called(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        command()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    return printed.out


def test_the_linear_fit_finds_the_rate_of_a_linear_system():
    """Gyrator: 1.0667; 40 paths of 500 pairs at dt = .1 have an irreducible spread of .033."""
    data = CASES["gyrator"].system.simulate(paths=40, frames=501)
    found = linear_fit(data)
    assert found.result == "ok"
    assert abs(found.rate - 1.066667) < 5 * found.standard_error
