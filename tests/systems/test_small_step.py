"""Least squares without sampling, against the variational minimum, simulation and limits."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.systems import (
    SamplerEquation,
    sgld,
    sgld_least_squares,
    small_step_limit,
    stationary_covariance,
)
from uidd.thermodynamics.variational import variational_entropy_production

SEED = 0


def least_squares(batch_size, setting="published", *, rows=20, unknowns=3):
    matrix = np.random.default_rng(1).normal(size=(rows, unknowns))
    return sgld_least_squares(batch_size, setting, matrix=matrix)


def parts(sampler):
    """H, z0 and T of f = -H (z - z0), with the noise 2 T."""
    A, v = (np.asarray(part, np.float64) for part in sampler.data)
    return sampler.scale * A.T @ A / len(A), np.linalg.lstsq(A, v)[0], sampler.noise / 2


def equilibrium(sampler, count):
    """Draws from the density without batch noise."""
    H, z0, T = parts(sampler)
    noise = np.random.default_rng(SEED).normal(size=(count, len(z0)))
    return z0 + noise @ np.linalg.cholesky(T * np.linalg.inv(H)).T


def rates(limit):
    return np.array([limit.entropy_production_rate, limit.relative_fisher_information])


@pytest.mark.parametrize("setting", ["published", "paper"])
def test_both_leading_terms_are_those_of_the_variational_minimum_for_small_steps(setting, x64):
    """At a noise ratio of 1e-3 the next order is some 1e-3 of it, less than the error of the draws."""
    sampler = least_squares(16, setting)
    sampler = replace(sampler, step=sampler.step * 1e-3 / small_step_limit(sampler).noise_ratio)
    limit, states = small_step_limit(sampler), equilibrium(sampler, 20_000)
    found = variational_entropy_production(SamplerEquation(sampler), states, degree=4)
    assert abs(found.rate.rate - limit.entropy_production_rate) < 5 * found.rate.standard_error
    assert found.rate.standard_error < 0.02 * limit.entropy_production_rate
    H, z0, T = parts(sampler)
    gap = (states - z0) @ H / T - np.asarray(jax.vmap(found.potential_gradient)(jnp.asarray(states)))
    squares = np.sum(gap**2, axis=1)
    error = squares.std() / len(squares) ** 0.5
    assert abs(squares.mean() - limit.relative_fisher_information) < 5 * error


def test_what_the_leading_term_lacks_is_linear_in_the_step(x64):
    """S / step^2 = leading + slope * step + ...: with the same draws, differences double with the step."""
    sampler, step = least_squares(16), 0.00125
    states = equilibrium(sampler, 4000)
    over = []
    for factor in (1, 2, 4):
        at = replace(sampler, step=factor * step)
        found = variational_entropy_production(SamplerEquation(at), states, degree=4).rate.rate
        over.append(found / small_step_limit(at).entropy_production_rate)
    near, far = np.diff(over)
    assert abs(np.log2(far / near) - 1) < 0.2
    assert abs(near) < 0.05


def test_both_terms_fall_with_the_square_of_the_batch_and_rise_with_that_of_the_step():
    sampler = least_squares(1)
    one = rates(small_step_limit(sampler))
    np.testing.assert_allclose(rates(small_step_limit(sampler.with_batch_size(5))), one / 25, rtol=1e-12)
    np.testing.assert_allclose(rates(small_step_limit(replace(sampler, step=0.02))), one * 4, rtol=1e-12)
    apart = replace(sampler, replacement=False, batch_size=5)
    np.testing.assert_allclose(rates(small_step_limit(apart)), one * (15 / 19 / 5) ** 2, rtol=1e-12)


@pytest.mark.parametrize("setting", ["published", "paper"])
def test_the_covariance_solves_its_equation_with_the_mean_of_the_noise(setting, x64):
    """z0 -+ sqrt(D) C^{1/2} e_k have mean z0 and covariance C, and M is quadratic: E M is exact over them."""
    sampler = least_squares(1, setting)
    C, (H, z0, _), equation = stationary_covariance(sampler), parts(sampler), SamplerEquation(sampler)
    away = np.sqrt(len(z0)) * np.linalg.cholesky(C).T
    M = np.mean([equation.dissipation(jnp.asarray(z)) for z in (*(z0 + away), *(z0 - away))], axis=0)
    np.testing.assert_allclose(H @ C + C @ H, 2 * M, rtol=1e-10, atol=1e-12 * np.abs(M).max())


def test_the_covariance_is_that_of_simulated_paths():
    """Euler steps of half the sampler's have a bias of dt H / 2, below 1 %, a third of the standard error."""
    sampler, paths = least_squares(1), 2000
    C, (H, z0, T), dt = stationary_covariance(sampler), parts(sampler), sampler.step / 2
    assert np.trace(C) > 1.2 * np.trace(T * np.linalg.inv(H))
    A, v = (np.asarray(part, np.float64) for part in sampler.data)
    generator, x = np.random.default_rng(SEED), np.zeros((paths, 3))
    for _ in range(int(4 / (np.linalg.eigvalsh(H)[0] * dt))):
        # One normal number a datum has the covariance of a batch of one.
        weights = generator.normal(size=(paths, len(A))) / len(A) ** 0.5
        weights -= weights.mean(axis=1, keepdims=True)
        batch = (weights * ((x + z0) @ A.T - v)) @ A
        noise = (2 * T) ** 0.5 * generator.normal(size=x.shape) + sampler.step**0.5 * batch
        x = x - dt * x @ H + dt**0.5 * noise
    products = np.einsum("ni,nj->nij", x, x)
    error = products.std(axis=0) / paths**0.5
    assert (np.abs(products.mean(axis=0) - C) < 5 * error).all()


def test_one_dimension_and_the_full_batch_have_no_current():
    line = small_step_limit(least_squares(1, unknowns=1))
    assert line.entropy_production_rate < 1e-25 * line.relative_fisher_information
    full = least_squares(None)
    assert (rates(small_step_limit(full)) == 0).all()
    H, _, T = parts(full)
    np.testing.assert_allclose(stationary_covariance(full), T * np.linalg.inv(H), rtol=1e-10)


def test_residuals_that_only_add_constant_noise_add_no_entropy():
    """Every row twice, with residuals -+R: M1 = R^2 H + terms without R, and H commutes with H.

    V changes by R^2 to -T grad V1 = R^2 H grad V0, so I -> (eps R^2)^2 tr H^3 / T^3 for large R.
    """
    A = np.random.default_rng(2).normal(size=(10, 3))

    def doubled(R):
        sampler = least_squares(4)
        return replace(sampler, data=(np.tile(A, (2, 1)), np.repeat([R, -R], 10)))

    low, high = (small_step_limit(doubled(R)) for R in (1.0, 1000.0))
    assert high.entropy_production_rate == pytest.approx(low.entropy_production_rate, rel=1e-6)
    H, _, T = parts(doubled(1.0))
    expected = (0.01 / 2 / 4 * 1e6) ** 2 * np.trace(H @ H @ H) / T**3
    assert high.relative_fisher_information == pytest.approx(expected, rel=1e-5)


def test_bad_input_is_answered_in_one_sentence():
    def gradient(z, x):
        return z - x

    with pytest.raises(InputError, match="one of least squares"):
        small_step_limit(sgld(gradient, np.ones((4, 2)), 1, 0.01, dimension=2))
    with pytest.raises(InputError, match="determine every unknown"):
        stationary_covariance(least_squares(1, rows=2))
    with pytest.raises(InputError, match="`step` must be small enough"):
        stationary_covariance(replace(least_squares(1), step=10.0))
