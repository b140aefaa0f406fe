"""Entropy production against the linear system's closed form, and its null."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.dynamics import ClosedFormDynamics
from uidd.systems import Linear
from uidd.systems.linear import STIFFNESS
from uidd.thermodynamics import (
    entropy_production_rate,
    local_entropy_production,
    system_entropy_production,
)


def gaussian_draws(count, seed):
    """Independent draws from N(0, S^-1), the linear system's stationary density."""
    root = np.linalg.cholesky(np.linalg.inv(STIFFNESS))
    return np.random.default_rng(seed).standard_normal((count, 2)) @ root.T


def test_the_rate_of_the_linear_system_is_its_closed_form(strict_ranks):
    """-Tr(M^-1 W S W) = 47.0598; the error bar is that of a mean of independent draws."""
    draws = gaussian_draws(4000, 1)
    estimate = entropy_production_rate(Linear().dynamics, draws)
    assert abs(estimate.rate - 47.0598) < 5 * estimate.standard_error
    values = jax.vmap(lambda z: local_entropy_production(Linear().dynamics, z))(jnp.asarray(draws))
    np.testing.assert_allclose(estimate.rate, np.mean(values), rtol=1e-5)
    np.testing.assert_allclose(estimate.standard_error, np.std(values, ddof=1) / 4000**0.5, rtol=1e-3)
    assert estimate.result.successful
    low, high = estimate.interval
    np.testing.assert_allclose((high - low) / 2, 1.96 * estimate.standard_error, rtol=1e-4)


def test_the_rate_without_circulation_is_zero(strict_ranks):
    estimate = entropy_production_rate(Linear(0.0).dynamics, gaussian_draws(100, 2))
    assert estimate.rate == 0 and estimate.standard_error == 0


def test_the_error_of_chains_is_that_of_the_mean_of_chains():
    """Chains that repeat one draw hold as much as their number, not as their length."""
    draws = gaussian_draws(50, 3)
    single = entropy_production_rate(Linear().dynamics, draws)
    repeated = entropy_production_rate(Linear().dynamics, np.repeat(draws[:, None], 7, axis=1))
    np.testing.assert_allclose(repeated.rate, single.rate, rtol=1e-5)
    np.testing.assert_allclose(repeated.standard_error, single.standard_error, rtol=1e-4)


def test_a_draw_at_which_the_rate_is_not_finite_is_reported():
    estimate = entropy_production_rate(Linear().dynamics, [[0.0, 0.0], [np.inf, 0.0]])
    assert estimate.result.code == "not_finite"
    assert estimate.to_dict()["rate"] is None


@pytest.mark.parametrize("samples", [[], [1.0, 2.0], np.zeros((2, 0)), 3.0], ids=str)
def test_unusable_samples_are_refused_in_one_sentence(samples):
    with pytest.raises(InputError, match="`samples` must be"):
        entropy_production_rate(Linear().dynamics, samples)


def test_the_system_entropy_production_averages_to_zero_but_is_not_zero():
    """V = |z|^2 / 2, W = H J: s_sys = z1 d2 H - z2 d1 H, of Gaussian mean E[H (z1 z2 - z2 z1)] = 0.

    With H = z1 + z1^2 z2 + z1 z2 it is z1 (z1^2 + z1) - z2 (1 + 2 z1 z2 + z2), of variance of order ten.
    """
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    dynamics = ClosedFormDynamics(
        lambda z: z @ z / 2,
        lambda z: jnp.eye(2),
        lambda z: (z[0] + z[0] ** 2 * z[1] + z[0] * z[1]) * jnp.asarray(J),
    )
    z = np.random.default_rng(4).standard_normal((20_000, 2)).astype(np.float32)
    s = np.asarray(jax.jit(jax.vmap(lambda z: system_entropy_production(dynamics, z)))(z), np.float64)
    by_hand = z[:, 0] * (z[:, 0] ** 2 + z[:, 0]) - z[:, 1] * (1 + 2 * z[:, 0] * z[:, 1] + z[:, 1])
    np.testing.assert_allclose(s, by_hand, rtol=1e-3, atol=1e-4)
    assert abs(s.mean()) < 5 * s.std() / len(s) ** 0.5
    assert s.std() > 1
