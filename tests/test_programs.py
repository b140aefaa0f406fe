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
