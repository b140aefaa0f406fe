"""A broken run, resumed, ends bit for bit as an unbroken one."""

import importlib
import os
import random
import signal
import subprocess
import sys
import time

import jax
import pytest

from uidd._checks import InputError
from uidd.models import load_model
from uidd.systems import Linear
from uidd.training import fit
from uidd.training.epochs import Epochs
from uidd.training.progress import TrainingProgress

fit_module = importlib.import_module("uidd.training.epochs")
MOMENTS = {
    "in the middle of an epoch's end": (Epochs, "loss", 5),
    "while the epoch is recorded": (fit_module, "EpochRecord", 5),
    "when the best weights are chosen": (fit_module, "best_epoch", 4),
    "while the bar is drawn": (TrainingProgress, "show", 4),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_an_interrupted_run_resumes_bit_for_bit(
    moment, data, settings, fitted, same_fit, tmp_path, monkeypatch
):
    """Ctrl-C comes at any moment: state, best weights and history must be of one epoch when it does."""
    place, name, call = moment
    original, calls = getattr(place, name), []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, interrupted)
        first = fit(data, **settings, checkpoint=tmp_path / "c.uidd")
    assert first.result.code == "interrupted"
    assert 1 < len(first.history) < len(fitted.history)
    second = fit(data, **settings, checkpoint=tmp_path / "c.uidd", resume=True)
    assert same_fit(second, fitted)
    assert second.result == fitted.result


SCRIPT = """
import sys, time
sys.path[:0] = {paths!r}
import uidd.training.checkpoint as checkpoint
from uidd.training import fit
from uidd.training.progress import TrainingProgress
from uidd.systems import Linear
from conftest import SETTINGS
checkpoint.SECONDS_BETWEEN_WRITES = 0.0
TrainingProgress.show = lambda self, record: time.sleep(0.2)
fit(Linear().simulate(300, 51), **SETTINGS, checkpoint={file!r})
"""


@pytest.mark.slow
def test_a_killed_run_resumes_bit_for_bit(data, settings, fitted, same_fit, tmp_path):
    """SIGKILL at a random moment after the first checkpoint, so at times while one is written."""
    file = tmp_path / "c.uidd"
    paths = [os.path.dirname(__file__), *filter(None, sys.path)]
    delay = random.random()
    print(f"killed after {delay} s")
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(paths=paths, file=str(file))],
        env={**os.environ, "JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir},
    )
    deadline = time.monotonic() + 120
    while not file.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(delay)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    assert same_fit(fit(data, **settings, checkpoint=file, resume=True), fitted)


def test_a_checkpoint_of_other_data_or_settings_is_refused(data, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(
        TrainingProgress, "show", lambda self, record: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    file = tmp_path / "c.uidd"
    fit(data, **settings, checkpoint=file)
    written = file.read_bytes()
    for other in (
        {"data": Linear().simulate(300, 51, seed=9), **settings},
        {"data": data, **settings, "seed": 4},
    ):
        with pytest.raises(InputError, match="belongs to other data or settings; resume with the same"):
            fit(**other, checkpoint=file, resume=True)
    assert file.read_bytes() == written  # and it is left as it was
    with pytest.raises(InputError, match="holds a checkpoint, not a model"):
        load_model(file)
    file.write_bytes(written[:-5])
    with pytest.raises(InputError, match="damaged"):
        fit(data, **settings, checkpoint=file, resume=True)
