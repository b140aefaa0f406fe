import jax
import jax.numpy as jnp

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
