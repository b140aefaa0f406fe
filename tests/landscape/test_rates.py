"""Passage times against quadrature in one dimension, and against Eyring and Kramers."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from uidd import InputError
from uidd.dynamics import ClosedFormDynamics
from uidd.landscape import barrier, eyring_kramers_time, passage_time

HEIGHT, M = 3.0, 0.5


def V(x):
    return HEIGHT * (x**2 - 1) ** 2


def line():
    return ClosedFormDynamics(
        lambda z: V(z[0]), lambda z: jnp.eye(1, dtype=z.dtype), lambda z: jnp.zeros((1, 1), z.dtype)
    )


def plane(circulation):
    W = np.array([[0.0, circulation], [-circulation, 0.0]])
    return ClosedFormDynamics(
        lambda z: V(z[0]) + 2 * z[1] ** 2,
        lambda z: jnp.eye(2, dtype=z.dtype),
        lambda z: jnp.asarray(W, z.dtype),
    )


def exact_time(end):
    """(1/M) int_-1^end e^V(y) int_-inf^y e^-V(x) dx dy."""
    inner = lambda y: quad(lambda x: np.exp(-V(x)), -4, y)[0]  # noqa: E731
    return quad(lambda y: np.exp(V(y)) * inner(y), -1, end)[0] / M


@pytest.mark.slow
def test_a_passage_in_one_dimension_takes_as_long_as_quadrature_says():
    over = barrier(line().potential, [-1.0], [1.0])
    found = passage_time(line(), over, passages=2000, seed=1)
    exact = exact_time(1 - 1 / np.sqrt(8 * HEIGHT))
    # Over 20 seeds: off by -.1 +- .5 % on average, spread 2.1 % where 2.2 % is said, at most 2.0 errors.
    assert found.result == "ok" and found.passages >= 2000
    assert abs(found.mean - exact) < 3.5 * found.standard_error


@pytest.mark.slow
def test_eyring_and_kramers_in_closed_form():
    # V'' = 8 h at the wells, -4 h on top: tau = 2 pi / (M 4 h) sqrt(4 h / 8 h) e^h.
    exact = 2 * np.pi / (M * 4 * HEIGHT) * np.sqrt(0.5) * np.exp(HEIGHT)
    for dynamics, ends in ((line(), ([-1.0], [1.0])), (plane(0.0), ([-1.0, 0.0], [1.0, 0.0]))):
        over = barrier(dynamics.potential, *ends)
        assert eyring_kramers_time(dynamics, over) == pytest.approx(exact, rel=1e-6)


@pytest.mark.slow
def test_a_current_speeds_the_passage_up_as_the_formula_says():
    times = []
    for circulation in (0.0, 1.0):
        dynamics = plane(circulation)
        over = barrier(dynamics.potential, [-1.0, 0.0], [1.0, 0.0])
        times.append(passage_time(dynamics, over, passages=1500, seed=2))
    measured = times[1].mean / times[0].mean
    formula = times[1].eyring_kramers / times[0].eyring_kramers
    error = measured * np.hypot(*(t.standard_error / t.mean for t in times))
    # At three kT the formula is good to some ten per cent, in ratios better.
    assert formula < 0.8
    assert abs(measured - formula) < 3 * error + 0.1 * formula


def test_no_passage_is_no_time():
    high = ClosedFormDynamics(
        lambda z: 40 * (z[0] ** 2 - 1) ** 2,
        lambda z: jnp.eye(1, dtype=z.dtype),
        lambda z: jnp.zeros((1, 1), z.dtype),
    )
    found = passage_time(high, barrier(high.potential, [-1.0], [1.0]), most_steps=500)
    assert found.result == "none" and np.isnan(found.mean) and found.eyring_kramers > 1e10


def test_what_is_no_dynamics_is_refused():
    with pytest.raises(InputError, match="`dynamics` must be a model"):
        passage_time(V, barrier(line().potential, [-1.0], [1.0]))
