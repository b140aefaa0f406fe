import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from uidd import _programs
from uidd._programs import compiled


def test_products_and_their_derivatives_are_taken_in_full_precision():
    def loss(a, b):
        return jnp.sum((a @ b) ** 2)

    a, b = jnp.ones((3, 3)), jnp.ones((3, 3))
    precise = str(jax.make_jaxpr(compiled(jax.grad(loss)))(a, b))
    usual = str(jax.make_jaxpr(jax.grad(loss))(a, b))
    assert precise.count("dot_general") == usual.count("dot_general") == precise.count("Precision.HIGHEST, ")
    assert "HIGHEST" not in usual


def test_a_compiled_method_knows_its_object():
    class Line:
        slope = 2.0

        @compiled
        def at(self, x):
            return self.slope * x

    assert float(Line().at(3.0)) == 6.0


@pytest.mark.parametrize(("used", "limit", "cleared"), [(60, 100, 1), (40, 100, 0), (None, 100, 0)])
def test_programs_are_forgotten_before_maps_run_out(tmp_path, monkeypatch, used, limit, cleared):
    calls = []
    monkeypatch.setattr(jax, "clear_caches", lambda: calls.append(1))
    for name, content in (("MAPS", None if used is None else "map\n" * used), ("MOST_MAPS", str(limit))):
        if content is not None:
            (tmp_path / name).write_text(content)
        monkeypatch.setattr(_programs, name, tmp_path / name)
    _programs.make_room()
    assert len(calls) == cleared


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(tmp_path):
    """A folder of programs that hold nonsense: the next process gives the same number."""
    words = (
        "import jax.numpy as jnp; from uidd._programs import compiled, keep_programs; keep_programs();"
        "print(float(compiled(lambda x: jnp.linalg.inv(x @ x.T + jnp.eye(9)).sum())(jnp.ones((9, 9)))))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", words],
            env={**environment, "UIDD_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        for path in kept:
            path.write_bytes(b"nonsense")
    assert told[0] == told[1]


def test_no_cache_on_the_command_line_keeps_no_programs(monkeypatch):
    import typer
    from typer.testing import CliRunner

    from uidd.cli.options import NoCache

    monkeypatch.setenv(_programs.CACHE_VARIABLE, "somewhere")
    app = typer.Typer()

    @app.command()
    def verb(no_cache: NoCache = False) -> None:
        print(_programs.cache_folder())

    assert CliRunner().invoke(app, []).output.strip() == "somewhere"
    assert CliRunner().invoke(app, ["--no-cache"]).output.strip() == "None"
