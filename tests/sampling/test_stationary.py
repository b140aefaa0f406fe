"""Draws from e^-V: right where the truth is known, and honest where populations disagree."""

import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.dynamics import ClosedFormDynamics
from uidd.sampling import sample_stationary
from uidd.systems import Linear
from uidd.systems.linear import STIFFNESS


@pytest.fixture(scope="module")
def draws():
    """The paper's linear system, started far from its stationary density N(0, S^-1)."""
    starts = 2 * np.random.default_rng(0).standard_normal((100, 2))
    return sample_stationary(Linear().dynamics, 4000, seed=0, starts=starts)


def with_potential(V, dimension):
    return ClosedFormDynamics(V, lambda z: jnp.eye(dimension), lambda z: jnp.zeros((dimension, dimension)))


def check_mean(values_of_chains, truth):
    """Within five standard errors, taken from the means of independent populations."""
    means = values_of_chains.mean(axis=1)
    error = means.std(axis=0, ddof=1) / len(means) ** 0.5
    assert (np.abs(means.mean(axis=0) - truth) < 5 * error).all()


def test_draws_have_the_mean_and_covariance_of_a_known_gaussian(draws):
    z = draws.chains
    check_mean(z, 0)
    check_mean(np.einsum("cni,cnj->cnij", z, z), np.linalg.inv(STIFFNESS))


def test_diagnostics_of_a_well_mixed_sample_are_sane(draws):
    """16 populations of 250 draws: R-hat near one, between a tenth and all of the draws effective."""
    assert draws.result.successful
    assert 0.99 < draws.r_hat < 1.05
    assert 400 < draws.effective_sample_size < 1.5 * 4000
    assert 0.4 < draws.acceptance < 0.75  # tuned to 0.574
    assert np.asarray(draws).shape == (4000, 2) and len(draws) == 4000


def test_unequal_wells_behind_a_barrier_have_the_mass_of_quadrature():
    """V = 10 (x^2 - 1)^2 + x / 2 + e^x y^2 / 2 integrates over y to e^-(10 (x^2 - 1)^2 + x), 12.4 % right.

    20 of 21 starts are left, so that chains, which cross nothing of 10 k_B T, would put 5 % to the right.
    """
    wells = with_potential(lambda z: 10 * (z[0] ** 2 - 1) ** 2 + z[0] / 2 + jnp.exp(z[0]) * z[1] ** 2 / 2, 2)
    x = np.linspace(-2, 2, 4001)
    density = np.exp(-(10 * (x**2 - 1) ** 2 + x))
    side = np.where(np.arange(63) < 60, -1.0, 1.0)[:, None] * [1, 0]
    starts = side + 0.2 * np.random.default_rng(0).standard_normal((63, 2))
    draws = sample_stationary(wells, 8000, seed=0, starts=starts)
    assert draws.result.successful
    check_mean(draws.chains[..., 0] > 0, density[x > 0].sum() / density.sum())


def test_two_wells_that_nothing_crosses_have_equal_mass():
    """Wells at z1 = -1 and 1 behind a barrier of 60 k_B T; a quarter of the starts is in the left one."""
    wells = with_potential(lambda z: 60 * (z[0] ** 2 - 1) ** 2 + z[1] ** 2 / 2, 2)
    starts = [[-1.0, 0.1], [1.0, 0.2], [1.0, -0.1], [1.0, 0.0]]
    draws = sample_stationary(wells, 4000, seed=1, starts=starts)
    check_mean(draws.chains[..., 0] > 0, 0.5)


def narrow_well(width):
    """Half of the mass in N(0, 1), half in N(6, width^2), in two dimensions."""
    far = np.array([6.0, 0.0])

    def V(z):
        left, right = jnp.sum(z**2) / 2, jnp.sum((z - far) ** 2) / (2 * width**2)
        return -jnp.logaddexp(-left, -right - 2 * np.log(width))

    return with_potential(V, 2)


def test_a_narrow_well_is_found_by_a_single_start_in_it():
    """A two-thousandth of the other well's area, which a broad reference density alone would miss."""
    starts = [*np.random.default_rng(0).standard_normal((60, 2)), [6.0, 0.01]]
    draws = sample_stationary(narrow_well(0.02), 4000, seed=0, starts=starts)
    check_mean(draws.chains[..., 0] > 5, 0.5)


def test_populations_that_find_a_well_by_chance_are_called_not_mixed():
    """Starts around a well but none in it: a few particles fall into it, in some populations."""
    starts = [*np.random.default_rng(0).standard_normal((60, 2)), [9.0, 1.0]]
    draws = sample_stationary(narrow_well(0.05), 4000, seed=0, starts=starts)
    assert draws.result.code == "not_mixed" and draws.r_hat > 1.05
    assert "separate wells" in draws.result.message


@pytest.mark.parametrize(
    ("dimension", "condition"), [(1, 1.0), (12, 100.0), pytest.param(32, 100.0, marks=pytest.mark.slow)]
)
def test_gaussians_of_many_dimensions_have_their_mean_and_covariance(dimension, condition):
    """N(m, Q diag(1 / condition .. 1) Q^T), started from 256 draws of twice the width."""
    generator = np.random.default_rng(0)
    Q, m = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0], np.arange(dimension) / 10
    variances = np.geomspace(1 / condition, 1, dimension)
    P = (Q / variances) @ Q.T
    gaussian = with_potential(lambda z: (z - m) @ P @ (z - m) / 2, dimension)
    starts = m + 2 * (generator.standard_normal((256, dimension)) * variances**0.5) @ Q.T
    draws = sample_stationary(gaussian, 8000, seed=0, starts=starts)
    assert draws.result.successful
    y = (draws.chains - m) @ Q / variances**0.5
    check_mean(y, 0)
    check_mean(np.einsum("cni,cnj->cnij", y, y), np.eye(dimension))


def test_a_potential_that_is_nowhere_a_number_is_not_judged():
    draws = sample_stationary(with_potential(lambda z: jnp.nan * z[0], 2), 100, seed=0, starts=[[0.0, 0.0]])
    assert draws.result.code == "not_judged"


def test_a_handful_of_draws_is_not_judged():
    draws = sample_stationary(Linear().dynamics, 20, seed=0, starts=[[0.0, 0.0]])
    assert draws.chains.shape == (16, 2, 2) and draws.result.code == "not_judged"


@pytest.mark.parametrize(
    "starts", [None, [], [1.0, 2.0], [[np.nan, 0.0]], [["a", "b"]], [[0.0, 1.0], [2.0]]], ids=str
)
def test_unusable_starts_are_refused_in_one_sentence(starts):
    with pytest.raises(InputError, match="`starts` must be"):
        sample_stationary(Linear().dynamics, 100, seed=0, starts=starts)


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 1.5}, {"chains": 2}])
def test_unusable_sizes_are_refused_in_one_sentence(wrong):
    with pytest.raises(InputError, match="must be a whole number"):
        sample_stationary(Linear().dynamics, seed=0, starts=[[0.0, 0.0]], **wrong)
