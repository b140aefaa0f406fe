"""The entropy production as a minimum, for equations that give away no potential, against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stand_ins import Hidden
from uidd._checks import InputError
from uidd.systems import DrivenWells, Linear
from uidd.systems.driven_wells import stationary_states
from uidd.thermodynamics import variational_entropy_production


def gaussian(count, seed=0):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(2), Linear().covariance, count)


def wells(count, seed=0):
    return stationary_states(np.random.default_rng(seed), count)


def square_distance(found, dynamics, states):
    """E |grad(V' - V)|_M^2."""

    def one(z):
        apart = found.potential_gradient(z) - dynamics.potential_gradient(z)
        return jnp.sum((apart @ dynamics.diffusion(z)) ** 2) / 2

    return float(np.mean(jax.jit(jax.vmap(one))(jnp.asarray(states, jnp.float32))))


@pytest.mark.parametrize(("strength", "degree"), [(1.0, 2), (1.0, 4), (0.0, 3)])
def test_the_rate_of_the_linear_system_is_its_closed_form(strength, degree):
    """Without circulation the minimum is zero at V, and the polynomial finds it: no state has an error."""
    system = Linear(strength)
    found = variational_entropy_production(Hidden(system.dynamics), gaussian(10_000), degree=degree)
    rounding = 1e-5 * found.dissipated
    assert abs(found.rate.rate - system.entropy_production_rate) < 5 * found.rate.standard_error + rounding
    assert found.dissipated > found.rate.rate


def test_dissipated_is_what_nothing_was_subtracted_from():
    """E |f|^2 in the metric M^-1 is Tr[A^T M^-1 A C], to the error of a mean over the states."""
    system, states = Linear(), gaussian(10_000)
    found = variational_entropy_production(Hidden(system.dynamics), states, degree=1)
    A, M = system.drift_matrix, system.dissipation_matrix
    Q = A.T @ np.linalg.solve(M, A)
    np.testing.assert_allclose(found.dissipated, np.mean(np.sum(states @ Q * states, axis=1)), rtol=1e-4)


def test_the_rate_of_driven_wells_comes_down_to_the_exact_one_with_the_degree():
    """V is of fourth degree: there the minimum is the rate, and below it more."""
    system, states = DrivenWells(0.5), wells(20_000)
    rates = [
        variational_entropy_production(Hidden(system.dynamics), states, degree=d).rate for d in (2, 3, 4)
    ]
    assert abs(rates[2].rate - system.entropy_production_rate) < 5 * rates[2].standard_error
    # Degree 3 brings nothing by symmetry but the noise of its coefficients.
    assert rates[0].rate > rates[2].rate + 5 * rates[2].standard_error
    assert rates[1].rate > rates[2].rate + 5 * rates[2].standard_error
    assert rates[0].rate > rates[1].rate - 5 * rates[1].standard_error


@pytest.mark.parametrize(
    ("system", "draw", "degree"), [(Linear(), gaussian, 2), (DrivenWells(0.5), wells, 4)]
)
def test_the_minimiser_is_the_potential_to_the_noise_of_its_coefficients(system, draw, degree):
    """Least squares of p coefficients leave about p / n of what is not explained, here the rate; with ten
    times more states ten times less. The factor of five is for states far out, where the rate is larger.
    """
    few, many = (
        square_distance(
            found := variational_entropy_production(Hidden(system.dynamics), draw(n), degree=degree),
            system.dynamics,
            draw(4000, seed=1),
        )
        * n
        / (len(found.coefficients) * system.entropy_production_rate)
        for n in (2000, 20_000)
    )
    assert 0.01 < few < 5 and 0.01 < many < 5


WRONG = {
    "`states` must be at least 100 draws": lambda e: variational_entropy_production(e, np.zeros((99, 2))),
    "`states` must be at least 100 draws of shape": lambda e: variational_entropy_production(
        e, np.zeros(200)
    ),
    "`states` must be finite": lambda e: variational_entropy_production(e, np.full((200, 2), np.nan)),
    "`degree` must be a whole number": lambda e: variational_entropy_production(e, gaussian(200), degree=0),
    "`degree` must be one of at most 50 terms for 200 states; got 9, with 54": lambda e: (
        variational_entropy_production(e, gaussian(200), degree=9)
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_argument_is_told_in_one_sentence(sentence):
    with pytest.raises(InputError, match=sentence):
        WRONG[sentence](Linear().dynamics)
