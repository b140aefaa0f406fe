"""V of an equation that is known, learned: its rate from above, its gradient, and zero at equilibrium."""

import jax
import numpy as np
import pytest

from stand_ins import Hidden
from uidd._checks import InputError
from uidd.systems import DrivenWells
from uidd.systems.driven_wells import stationary_states
from uidd.training import Plan, solve_for_potential

pytestmark = pytest.mark.slow

PLAN = Plan(steps=2000, batch=512, learning_rate=1e-2, steps_per_epoch=500)


def solved(drive, seed=0):
    states = stationary_states(np.random.default_rng(seed), 16_000)
    return solve_for_potential(
        Hidden(DrivenWells(drive).dynamics), states, widths=(32,), plan=PLAN, seed=seed
    )


def square_distance(found, drive):
    """E |grad V' - grad V|^2 in the metric M, here the unit matrix, over the states that were held out."""
    exact = jax.jit(jax.vmap(DrivenWells(drive).dynamics.potential_gradient))(found.states)
    return np.mean(np.sum((found.potential_gradients - np.asarray(exact)) ** 2, axis=1))


@pytest.fixture(scope="module")
def driven():
    return solved(0.5)


def test_the_rate_of_driven_wells_is_met_from_above(driven):
    """5 %: three standard errors of so many states, and a network that has not learned all of V."""
    exact = DrivenWells(0.5).entropy_production_rate
    assert abs(driven.rate.rate / exact - 1) < 0.05
    assert driven.rate.rate > exact - 5 * driven.rate.standard_error


def test_the_gradient_is_that_of_the_potential(driven):
    """What V' misses is what the rate is too high by: a hundredth of it, and of E |grad V|^2 less."""
    assert driven.potential_gradients.shape == driven.states.shape == (8000, 3)
    assert square_distance(driven, 0.5) < 0.01 * DrivenWells(0.5).entropy_production_rate


def test_at_equilibrium_the_rate_is_what_the_potential_misses():
    """Nothing else is left: E |f_irr + grad(V' - V)|^2 with f_irr = 0."""
    found = solved(0.0)
    assert 0 < found.rate.rate < 0.05
    # Over the held-out half here, over both halves there.
    np.testing.assert_allclose(found.rate.rate, square_distance(found, 0.0), rtol=0.3)


def test_the_same_seed_gives_the_same_numbers(driven):
    again = solved(0.5)
    assert again.rate == driven.rate
    assert np.array_equal(again.potential_gradients, driven.potential_gradients)


def test_a_potential_that_is_known_is_where_the_network_begins():
    """With next to no training: the exact V gives the exact rate, and one that is far off is not used."""
    system, none = DrivenWells(0.5), Plan(steps=2, batch=64, learning_rate=1e-9, steps_per_epoch=1)
    states = stationary_states(np.random.default_rng(0), 4_000)
    exact = np.asarray(jax.jit(jax.vmap(system.dynamics.potential_gradient))(states))

    def begun(known):
        return solve_for_potential(
            Hidden(system.dynamics), states, known=known, widths=(8,), plan=none, seed=0
        )

    near, far, without = begun(exact), begun(100 * exact), begun(None)
    assert abs(near.rate.rate - system.entropy_production_rate) < 5 * near.rate.standard_error
    np.testing.assert_allclose(near.potential_gradients, exact[:2000], atol=1e-3)
    assert far.rate == without.rate
    assert without.rate.rate > 2 * near.rate.rate


def test_too_few_states_are_refused_in_one_sentence():
    with pytest.raises(InputError, match="`states` must be at least four states, of shape"):
        solve_for_potential(Hidden(DrivenWells(0.5).dynamics), np.zeros(3))
