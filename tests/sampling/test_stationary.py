"""Draws from e^-V: right where the truth is known, and honest where chains do not mix."""

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


def check_mean(values_of_chains, truth):
    """Within five standard errors, taken from the means of independent chains."""
    means = values_of_chains.mean(axis=1)
    error = means.std(axis=0, ddof=1) / len(means) ** 0.5
    assert (np.abs(means.mean(axis=0) - truth) < 5 * error).all()


def test_draws_have_the_mean_and_covariance_of_a_known_gaussian(draws):
    z = draws.chains
    check_mean(z, 0)
    check_mean(np.einsum("cni,cnj->cnij", z, z), np.linalg.inv(STIFFNESS))


def test_diagnostics_of_a_well_mixed_sample_are_sane(draws):
    """40 chains of 100 draws: R-hat near one, between a tenth and all of the draws effective."""
    assert draws.result.successful
    assert 0.99 < draws.r_hat < 1.05
    assert 400 < draws.effective_sample_size < 1.5 * 4000
    assert 0.4 < draws.acceptance < 0.75  # tuned to 0.574
    assert np.asarray(draws).shape == (4000, 2) and len(draws) == 4000


def test_chains_that_stay_in_two_wells_are_called_not_mixed():
    """Wells at z1 = -1 and 1 behind a barrier of 60 k_B T; a quarter of the starts is in the left one.

    No chain crosses, so that the share of the wells is that of the starts and means nothing.
    """
    wells = ClosedFormDynamics(
        lambda z: 60 * (z[0] ** 2 - 1) ** 2 + z[1] ** 2 / 2,
        lambda z: jnp.eye(2),
        lambda z: jnp.zeros((2, 2)),
    )
    starts = [[-1.0, 0.1], [1.0, 0.2], [1.0, -0.1], [1.0, 0.0]]
    draws = sample_stationary(wells, 400, seed=1, starts=starts)
    assert draws.result.code == "not_mixed" and draws.r_hat > 2
    assert "separate wells" in draws.result.message


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
