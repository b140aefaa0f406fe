"""Bad input gets one sentence, exit 1 or 2, and nothing half-written."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uidd.cli.main import run


@pytest.fixture
def uidd(monkeypatch, capsys, tmp_path):
    """Run the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uidd", *words])
        with pytest.raises(SystemExit) as stop:
            run()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def _good() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((5, 30, 2)).cumsum(axis=1)


def _text(content: str):
    return lambda path: path.write_text(content)


def _array(**arrays):
    return lambda path: np.savez(path, **arrays)


HEADER = "track,t,x,y\n"
ROWS = "".join(f"{k},{0.1 * i},{i * 0.3 + k},{(i * 7) % 5}\n" for k in range(3) for i in range(8))
CASES = {
    "an empty file": ("a.csv", _text(""), []),
    "a header without rows": ("a.csv", _text(HEADER), []),
    "a missing column": ("a.csv", _text(HEADER + ROWS), ["--columns", "x,z"]),
    "text in a number column": ("a.csv", _text(HEADER + ROWS + "2,0.9,oops,1\n"), []),
    "infinite values": ("a.csv", _text(HEADER + ROWS + "2,0.9,inf,1\n"), []),
    "a single frame": ("a.csv", _text(HEADER + "1,0.0,1.0,2.0\n"), []),
    "time that does not increase": ("a.csv", _text(HEADER + ROWS + "2,0.1,1,1\n"), []),
    "a constant coordinate": ("a.csv", _text("t,x,y\n0,1,5\n1,2,5\n2,4,5\n3,1,5\n"), []),
    "different dimensions": ("a.npz", _array(a=np.ones((5, 2)), b=np.ones((5, 3))), ["--dt", "1"]),
    "an object array": (
        "a.npz",
        lambda p: np.savez(p, x=np.array([{}, 1], object)),
        ["--dt", "1"],
    ),
    "a picture called npz": ("a.npz", lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50)), []),
    "text called parquet": ("a.parquet", _text("x,y\n1,2\n"), []),
    "text called h5": ("a.h5", _text("x,y\n1,2\n"), []),
    "text called npy": ("a.npy", _text("x,y\n1,2\n"), ["--dt", "1"]),
    "an unknown ending": ("a.xlsx", _text("x"), []),
    "no time at all": ("a.npz", _array(x=_good()), []),
    "a negative dt": ("a.npz", _array(x=_good()), ["--dt", "-1"]),
    "dt that is not a number": ("a.npz", _array(x=_good()), ["--dt", "fast"]),
    "too few frames to split": ("a.npz", _array(x=_good()[:1, :3]), ["--dt", "1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_gets_one_sentence_and_leaves_no_run(case, uidd, tmp_path):
    name, write, options = CASES[case]
    write(tmp_path / name)
    code, out, err = uidd("fit", name, *options, "--out", "run", "--quiet")
    assert code in (1, 2)
    assert err.startswith("uidd: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err + out
    assert not Path("run/model.uidd").exists()
    assert not list(tmp_path.rglob(".*"))


def test_a_folder_that_holds_a_run_is_left_alone(uidd, tmp_path):
    np.savez(tmp_path / "a.npz", x=_good())
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"mine": 1}')
    code, _, err = uidd("fit", "a.npz", "--dt", "1", "--out", "run")
    assert code == 1
    assert "already holds a run" in err
    assert (tmp_path / "run" / "config.json").read_text() == '{"mine": 1}'


def test_overwriting_with_bad_data_keeps_the_old_run(uidd, tmp_path):
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "run").mkdir()
    for name in ("config.json", "model.uidd"):
        (tmp_path / "run" / name).write_text("{}")
    assert uidd("fit", "a.csv", "--out", "run", "--overwrite")[0] == 1
    assert (tmp_path / "run" / "model.uidd").exists()


def test_a_file_in_place_of_the_folder_is_refused(uidd, tmp_path):
    np.savez(tmp_path / "a.npz", x=_good())
    (tmp_path / "run").write_text("")
    assert "is a file" in uidd("fit", "a.npz", "--dt", "1", "--out", "run")[2]


def test_a_full_disk_is_one_sentence_and_leaves_no_file(uidd, tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, _, err = uidd("simulate", "linear", "--out", "data.npz", "--paths", "5")
    assert code == 1
    assert "No space left on device" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ft"], "fit"),
        (["simulate", "liner"], "linear"),
        (["reproduce", "linaer"], "linear"),
        (["reproduce", "linear", "--size", "papr"], "paper"),
        (["fit", "x.csv", "--architecture", "polymr"], "polymer"),
        (["fit", "x.csv", "--sed", "1"], "--seed"),
        (["simulate", "linear", "--set", "strenght=2"], "strength"),
        (["simulate", "beads-5", "--set", "coutn=4"], "count"),
        (["benchmark", "acuracy"], "accuracy"),
        (["benchmark", "accuracy", "--only", "doubl-well"], "double-well"),
    ],
)
def test_an_unknown_word_names_the_nearest_known_one(words, hint, uidd):
    code, _, err = uidd(*words)
    assert code in (1, 2)
    assert hint in err
    assert err.count("\n") == 1


def test_a_folder_without_a_run_says_how_to_make_one(uidd):
    for verb in ("analyze", "report"):
        code, _, err = uidd(verb, "nowhere")
        assert code == 1
        assert "uidd fit" in err


def test_help_names_every_verb_with_an_example_and_needs_no_jax():
    program = (
        "import sys; sys.argv = ['uidd', '--help']\n"
        "from uidd.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    )
    page = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    for verb in ("fit", "analyze", "report", "simulate", "reproduce", "benchmark", "sgld-diagnose", "demo"):
        assert f"uidd {verb}" in page


def test_a_file_in_place_of_a_study_folder_is_refused_before_any_fit(uidd, tmp_path):
    (tmp_path / "taken").write_text("")
    code, _, words = uidd("reproduce", "identifiability", "--out", "taken")
    assert code == 1 and "'taken' is a file, not a folder" in words
