"""Activations against their formulas, and their slopes where the formula changes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.components import ACTIVATIONS, activation

X = np.linspace(-3, 3, 601)

# Written piece by piece, which is not how the package computes them. `gelu` is its tanh form.
FORMULAS = {
    "tanh": (np.exp(2 * X) - 1) / (np.exp(2 * X) + 1),
    "gelu": X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))),
    "softplus": np.log(1 + np.exp(X)),
    "shifted_requ": np.where(X < 0, 0, np.where(X < 0.5, X**2, X - 0.25)),
    "recu": np.where(X < 0, 0, np.where(X < 1, X**3 / 3, X - 2 / 3)),
}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_an_activation_equals_its_formula(name, x64):
    np.testing.assert_allclose(activation(name)(jnp.asarray(X)), FORMULAS[name], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "kink", "value", "slope"),
    [("shifted_requ", 0, 0, 0), ("shifted_requ", 0.5, 0.25, 1), ("recu", 0, 0, 0), ("recu", 1, 1 / 3, 1)],
)
def test_value_and_slope_are_continuous_where_the_formula_changes(name, kink, value, slope, x64):
    # The slope is Lipschitz with constant 2, so that at a distance d both are within 2 d of the limit.
    phi, d = activation(name), 1e-9
    for x in (kink - d, float(kink), kink + d):
        np.testing.assert_allclose(phi(jnp.asarray(x)), value, atol=2 * d)
        np.testing.assert_allclose(jax.grad(phi)(jnp.asarray(x)), slope, atol=2 * d)


def test_an_unknown_activation_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"Did you mean 'shifted_requ'\?"):
        activation("shifted_relu")
