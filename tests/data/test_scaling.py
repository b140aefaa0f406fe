"""`Scaling` makes data of unit size and does not care in which units they came."""

import numpy as np
import pytest

from uidd.data import Scaling, Trajectories, Transitions

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


def gaussian_parts(count, seed=0):
    """Two parts of pairs from correlated Gaussian states of different size."""
    generator = np.random.default_rng(seed)
    root = np.array([[2.0, 0.0, 0.0], [0.1, 0.5, 0.0], [30.0, 0.0, 40.0]])
    return [
        Transitions(
            generator.normal(size=(count, 3)) @ root.T + np.array([1.0, -3.0, 1e3]),
            generator.normal(size=(count, 3)) * root.diagonal(),
            np.full(count, 0.1),
        )
        for _ in range(2)
    ]


def test_the_scale_of_gaussian_pairs_is_their_deviation():
    """Half the distance of the quartiles has the relative variance 1.361 / n, and a median pi / 2 s^2 / n."""
    parts = gaussian_parts(20_000)
    scaling = Scaling.of_transitions(parts)
    deviation = np.array([2.0, 0.26**0.5, 50.0])
    assert (np.abs(scaling.scale / deviation - 1) < 5 * (1.361 / 40_000) ** 0.5).all()
    centers = np.abs(np.array(scaling.center) - [1.0, -3.0, 1e3])
    assert (centers < 5 * deviation * (np.pi / 2 / 40_000) ** 0.5).all()


def test_pairs_on_their_way_in_hardly_change_the_scale():
    """A twentieth of the states, a hundred deviations out: that of their number moves the quartiles, 7 %."""
    parts = gaussian_parts(20_000)
    before = np.array(Scaling.of_transitions(parts).scale)
    for part in parts:
        part.start[:1000] += 100 * before
    after = np.array(Scaling.of_transitions(parts).scale)
    assert (np.abs(after / before - 1) < 0.1).all()
    spread = np.concatenate([part.start for part in parts]).std(axis=0)
    assert (spread > 10 * before).all()  # the control: the deviation does change


def test_half_of_the_scaled_pairs_move_by_less_than_one_per_unit_of_time():
    parts = gaussian_parts(500)
    units = [Scaling.of_transitions(parts).transitions_to_unit(part) for part in parts]
    spread = np.concatenate([np.mean(unit.increment**2, axis=1) / unit.dt for unit in units])
    np.testing.assert_allclose(np.median(spread), 1, rtol=ROUNDING)
