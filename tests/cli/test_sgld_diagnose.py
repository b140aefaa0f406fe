"""`uidd sgld-diagnose` from files to a table, a figure and a batch size."""

import json
import sys

import numpy as np
import pytest

from uidd.cli.main import run


@pytest.fixture
def uidd(monkeypatch, capsys, tmp_path):
    """Run the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uidd", "sgld-diagnose", *words])
        with pytest.raises(SystemExit) as stop:
            run()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def _chains(circulation: float, seed: int, draws: int = 500) -> np.ndarray:
    generator = np.random.default_rng(seed)
    A = np.array([[1.0, circulation], [-circulation, 1.0]])
    z, found = generator.standard_normal((16, 2)), []
    for _ in range(draws):
        found.append(z)
        z = z - 0.1 * z @ A.T + 0.2**0.5 * generator.standard_normal(z.shape)
    return np.stack(found, axis=1)


@pytest.mark.slow
def test_chains_of_several_batch_sizes_give_a_table_and_files(uidd, tmp_path):
    np.savez("chains.npz", b1=_chains(2.0, 0), b16=_chains(0.0, 1))
    np.save("full.npy", _chains(0.0, 2))
    code, out, err = uidd("chains.npz", "--step", "0.1", "--full-batch", "full.npy", "--out", "found")
    assert code == 0, err
    assert "Batch size 16 is enough" in out and "detailed balance" in out
    stored = json.loads((tmp_path / "found" / "diagnosis.json").read_text())
    assert stored["recommended"] == 16
    assert [batch["broken"] for batch in stored["batches"]] == [True, False, False]
    assert (tmp_path / "found" / "diagnosis.png").read_bytes().startswith(b"\x89PNG")


def test_one_array_is_diagnosed_alone(uidd, tmp_path):
    np.save("chains.npy", _chains(2.0, 0))
    code, out, err = uidd("chains.npy", "--step", "0.1", "--burn-in", "0.1")
    assert code == 0, err
    assert "Detailed balance is broken" in out
    assert (tmp_path / "diagnosis.json").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["missing.npz", "--step", "1"], "a file that exists"),
        (["chains.npz"], "--step"),
        (["chains.npz", "--step", "-1"], "`step` must be"),
        (["chains.npz", "--step", "fast"], "--step"),
        (["words.npz", "--step", "1"], "cannot be read"),
        (["names.npz", "--step", "1"], "whole number, or 'full'"),
        (["short.npz", "--step", "1"], "pairs of draws a part"),
        (["nan.npy", "--step", "1"], "finite"),
        (["words.nc", "--step", "1"], "ArviZ"),
        (["chains.npz", "--step", "1", "--full-batch", "names.npz"], "whole number, or 'full'"),
        (["chains.npz", "--step", "1", "--out", "words.npz"], "not a folder"),
        (["chains.npz", "--step", "1", "--burn-in", "2"], "`burn_in`"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(words, hint, uidd, tmp_path):
    good = np.random.default_rng(0).standard_normal((4, 50, 2))
    np.savez("chains.npz", chains=good)
    np.savez("short.npz", chains=good)
    np.savez("names.npz", small=good, large=good)
    np.save("nan.npy", np.full((4, 50, 2), np.nan))
    (tmp_path / "words.npz").write_text("no chains")
    (tmp_path / "words.nc").write_text("no chains")
    code, out, err = uidd(*words)
    assert code in (1, 2)
    assert err.startswith("uidd: ") and err.count("\n") == 1
    assert hint in err and "Traceback" not in out + err
    assert not (tmp_path / "diagnosis.json").exists()
