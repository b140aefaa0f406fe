"""The verbs do what their help says, on small data."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import uidd

COMMAND = [sys.executable, "-c", "from uidd.cli.main import run; run()"]
SMALL = ["--steps", "40", "--batch", "256", "--quiet"]


def _uidd(*words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A fitted, analysed and reported run on a table of two coordinates."""
    place = tmp_path_factory.mktemp("verbs")
    _uidd("simulate", "linear", "--paths", "200", "--frames", "41", "--out", "data.npz", cwd=place)
    data = uidd.load_trajectories(place / "data.npz")
    rows = ["track,time,x,y"]
    for k, (states, times) in enumerate(zip(data.states, data.times, strict=True)):
        rows += [f"{k},{t!r},{x!r},{y!r}" for t, (x, y) in zip(times.tolist(), states.tolist(), strict=True)]
    (place / "tracks.csv").write_text("\n".join(rows))
    _uidd("fit", "tracks.csv", "--out", "run", *SMALL, cwd=place)
    _uidd("report", "run", cwd=place)
    return place


@pytest.mark.slow
def test_a_run_holds_everything(folder):
    names = {p.name for p in (folder / "run").iterdir()}
    assert names >= {
        "config.json",
        "model.uidd",
        "history.json",
        "metrics.json",
        "environment.json",
        "report.html",
        "checkpoint.uidd",
    }


@pytest.mark.slow
def test_landscape_prints_and_stores_minima_and_barriers(folder):
    told = _uidd("landscape", "run", cwd=folder).stdout
    assert "Minima of the potential" in told and "There is no barrier." in told
    stored = json.loads((folder / "run" / "landscape.json").read_text())
    assert len(stored["minima"]) == 1 and stored["barriers"] == []
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    assert metrics["minima"] == stored["minima"]


@pytest.mark.slow
def test_metrics_hold_the_entropy_production_with_its_interval(folder):
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    epr = metrics["entropy_production"]
    # The paths do not start in the stationary state.
    assert epr["over"] == "e^-V" and epr["over_model"]["rate"] == epr["rate"]
    assert [line["name"] for line in metrics["checks"]][:3] == ["coarse", "drift", "noise"]
    low, high = epr["interval"]
    assert low < epr["rate"] < high
    assert epr["standard_error"] > 0
    assert epr["result"] == "ok"
    # 160 training paths of unit time .4: the irreducible spread is about 1.2 of 47.
    assert abs(epr["rate"] - 47.06) < 5 * epr["standard_error"]


@pytest.mark.slow
def test_the_table_file_gives_the_same_model_as_the_array_file(folder):
    _uidd("fit", "data.npz", "--out", "other", *SMALL, cwd=folder)
    one, two = (uidd.load_model(folder / run / "model.uidd") for run in ("run", "other"))
    z = np.array([0.1, 0.2])
    np.testing.assert_array_equal(one.drift(z), two.drift(z))
    assert one.coordinates == ("x", "y")


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bits(folder):
    words = ["fit", "tracks.csv", "--out", "killed", "--steps", "1500", "--batch", "256", "--quiet"]
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL)
    checkpoint = folder / "killed" / "checkpoint.uidd"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "killed" / "model.uidd").exists()
    assert "--resume" in _uidd("analyze", "killed", cwd=folder, code=1).stderr
    _uidd("fit", "--resume", "--out", "killed", "--quiet", cwd=folder)
    _uidd(*words[:3], "unbroken", *words[4:], cwd=folder)
    for name in ("history.json", "checkpoint.uidd"):
        assert (folder / "killed" / name).read_bytes() == (folder / "unbroken" / name).read_bytes()
    one, two = (uidd.load_model(folder / run / "model.uidd") for run in ("killed", "unbroken"))
    z = np.array([0.1, 0.2])
    np.testing.assert_array_equal(one.drift(z), two.drift(z))


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_resume(folder):
    words = ["fit", "tracks.csv", "--out", "stopped", "--steps", "100000", "--batch", "256", "--quiet"]
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (folder / "stopped" / "checkpoint.uidd").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "uidd fit --resume --out stopped" in err
    assert err.count("\n") == 1
    assert (folder / "stopped" / "checkpoint.uidd").exists()


@pytest.mark.slow
def test_simulate_refuses_to_replace_a_file(tmp_path):
    words = ["simulate", "linear", "--paths", "3", "--frames", "5", "--out", "d.npz"]
    assert "47.0598" in _uidd(*words, cwd=tmp_path).stdout
    assert "--overwrite" in _uidd(*words, cwd=tmp_path, code=1).stderr
