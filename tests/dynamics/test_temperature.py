"""The form with temperature: sigma = sqrt(T) sigma~, M = T M~, V = V~/T, W = T W~."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from uidd.components import Full, SumOfSquares, Triangular
from uidd.models import Architecture

ROUNDING = 1e-11
SMALL = Architecture(SumOfSquares(components=4, widths=(8,)), Triangular((8,)), Full((8,)))


@pytest.fixture
def z(fresh_seed):
    return np.random.default_rng(fresh_seed).standard_normal((5, 3))


def parts(d, z):
    M, W = d.dissipation(z), d.circulation(z)
    div_M, div_W = d.dissipation_divergence(z), d.circulation_divergence(z)
    return d.potential(z), d.potential_gradient(z), d.diffusion(z), M, W, div_M, div_W, d.drift(z)


def test_the_temperature_form_equals_rescaling_by_hand(z, x64, fresh_seed, random_dynamics, quickly):
    T = 0.2
    cold = random_dynamics(replace(SMALL, temperature=T), 3, fresh_seed)
    plain = random_dynamics(SMALL, 3, fresh_seed)  # the same weights: the components at T = 1
    both = quickly(jax.vmap(lambda z: (parts(cold, z), parts(plain, z))))
    (V, dV, sigma, M, W, div_M, div_W, f), (V1, dV1, sigma1, M1, W1, div_M1, div_W1, _) = both(z)
    by_hand = -np.einsum("nij,nj->ni", T * M1 + T * W1, dV1 / T) + T * div_M1 + T * div_W1
    for value, truth in [
        (V, V1 / T), (dV, dV1 / T), (sigma, T**0.5 * sigma1), (M, T * M1), (W, T * W1),
        (div_M, T * div_M1), (div_W, T * div_W1), (f, by_hand),
    ]:  # fmt: skip
        np.testing.assert_allclose(value, truth, rtol=ROUNDING, atol=ROUNDING)


def test_the_drift_tends_linearly_to_that_of_the_cold_limit(z, x64, fresh_seed, random_dynamics, quickly):
    """f = -(M~ + W~) grad V~ + T (div M~ + div W~): the difference to the limit is exactly linear in T."""
    plain = random_dynamics(SMALL, 3, fresh_seed)
    _, dV, _, M, W, div_M, div_W, _ = quickly(jax.vmap(lambda z: parts(plain, z)))(z)
    limit = -np.einsum("nij,nj->ni", M + W, dV)
    for T in (0.1, 0.01):
        cold = random_dynamics(replace(SMALL, temperature=T), 3, fresh_seed)
        difference = quickly(jax.vmap(cold.drift))(z) - limit
        np.testing.assert_allclose(difference, T * (div_M + div_W), rtol=1e-9, atol=ROUNDING)


@pytest.mark.parametrize("temperature", [0.05, 3.0])
def test_the_temperature_form_reverses_in_time(temperature, z, x64, fresh_seed, random_dynamics, quickly):
    d = random_dynamics(replace(SMALL, temperature=temperature), 3, fresh_seed)
    back = d.time_reversed()
    both = quickly(jax.vmap(lambda z: (d.irreversible_drift(z), back.irreversible_drift(z), back.drift(z))))
    f_irr, f_irr_back, f_back = both(z)
    np.testing.assert_allclose(f_irr_back, -f_irr, rtol=ROUNDING, atol=ROUNDING)
    f_rev = quickly(jax.vmap(d.reversible_drift))(z)
    np.testing.assert_allclose(f_back, f_rev - f_irr, rtol=ROUNDING, atol=ROUNDING)
