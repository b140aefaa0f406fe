"""The package as a whole: its names, its documentation, what importing it costs."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import uidd

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_is_there():
    for name in uidd.__all__:
        assert getattr(uidd, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fot'"):
        _ = uidd.fot


def test_importing_uidd_imports_nothing_heavy():
    program = "import sys, uidd; assert not {'jax', 'numpy', 'equinox', 'plotly'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_version_is_one_fact():
    project = (ROOT / "pyproject.toml").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'version = "{uidd.__version__}"' in project
    assert f"version: {uidd.__version__}" in citation


def test_every_exported_name_of_a_room_is_documented():
    pages = {page.stem: page.read_text() for page in (ROOT / "docs" / "api").glob("*.md")}
    for room in sorted((ROOT / "src" / "uidd").glob("*/__init__.py")):
        if room.parent.name in pages:
            exported = re.findall(r"import (\w+) as \1", room.read_text())
            missing = [n for n in exported if f"uidd.{room.parent.name}.{n}\n" not in pages[room.parent.name]]
            assert not missing, f"docs/api/{room.parent.name}.md lacks {missing}"


def test_every_lower_bound_is_pinned_and_constrained():
    project = (ROOT / "pyproject.toml").read_text()
    constraints = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    block = re.search(r"^dependencies = \[(.*?)\]", project, re.S | re.M)
    assert block
    for requirement in re.findall(r'"([^"]+)"', block.group(1)):
        assert ">=" in requirement
        assert requirement.split(">=")[0].lower() in constraints


def test_no_mapped_program_factors_with_the_library():
    """Two such calls side by side, mapped over batches, can wait for each other forever.

    What is called once, for one matrix, may. See `dynamics.triangular`.
    """
    once = {"components/potential.py", "systems/muller_brown.py"}
    source = ROOT / "src" / "uidd"
    called = re.compile(r"jnp\.linalg\.(?!norm\b)|jax\.scipy\.linalg|lax\.linalg")
    found = {str(p.relative_to(source)) for p in source.rglob("*.py") if called.search(p.read_text())}
    assert found == once


@pytest.mark.slow
def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "first_steps.py"))["main"](paths=100)
    assert "exact 47.0598" in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_of_a_sampler_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "sgld_batch_size.py"))["main"](iterations=1000)
    said = capsys.readouterr().out
    assert "broken" in said and "exact, batch size full" in said
