"""`Scaling` makes data of unit size and does not care in which units they came."""

import numpy as np
import pytest

from uidd.data import Scaling, Trajectories

# Rounding in float64 of the few operations between two ways to compute one number.
ROUNDING = 1e-12


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(6, 40, 3)) * np.array([1e-3, 1.0, 50.0])
    return Trajectories.from_arrays(np.cumsum(steps, axis=1) + np.array([1.0, -3.0, 1e4]), dt=0.02)


def test_to_unit_and_to_user_undo_each_other(data):
    scaling, z = Scaling.of(data), data.states[0]
    np.testing.assert_allclose(scaling.to_user(scaling.to_unit(z)), z, rtol=ROUNDING)


def test_scaled_states_have_zero_mean_and_unit_deviation(data):
    x = Scaling.of(data).to_unit(np.concatenate(data.states))
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)  # the mean of 1e4 holds 12 digits
    np.testing.assert_allclose(x.std(axis=0), 1, rtol=1e-9)


def test_scaled_increments_are_one_per_unit_of_time(data):
    pairs = Scaling.of(data).transitions_to_unit(data.transitions())
    spread = np.mean(np.mean(pairs.increment**2, axis=1) / pairs.dt)
    np.testing.assert_allclose(spread, 1, rtol=ROUNDING)


def test_the_identity_changes_nothing(data):
    pairs = data.transitions()
    for a, b in zip(Scaling.identity(3).transitions_to_unit(pairs), pairs, strict=True):
        assert np.array_equal(a, b)
    assert Scaling.identity(3).log_determinant == 0


def test_the_log_determinant_is_that_of_the_matrix(data):
    scaling = Scaling.of(data)
    sign, value = np.linalg.slogdet(np.diag(scaling.scale))
    assert sign == 1
    np.testing.assert_allclose(scaling.log_determinant, value, rtol=ROUNDING)


def test_other_units_and_another_time_unit_give_the_same_scaled_transitions(data):
    unit, offset, tau = np.array([1e3, 0.01, 7.0]), np.array([5.0, -1.0, 0.0]), 60.0
    other = Trajectories.from_arrays([s * unit + offset for s in data.states], dt=0.02 * tau)
    here = Scaling.of(data).transitions_to_unit(data.transitions())
    there = Scaling.of(other).transitions_to_unit(other.transitions())
    for a, b in zip(here, there, strict=True):
        # An offset of 1e4 standard steps leaves 12 of 16 digits in an increment.
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
