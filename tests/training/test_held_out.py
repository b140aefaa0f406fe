"""The error that all models share, on data whose answer is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from uidd import InputError, Trajectories
from uidd.dynamics import ClosedFormDynamics
from uidd.systems import Linear
from uidd.systems.linear_diffusion import transition
from uidd.training import held_out_error


def still():
    return ClosedFormDynamics(
        lambda z: 0.0 * z[0], lambda z: jnp.eye(2, dtype=z.dtype), lambda z: jnp.zeros((2, 2), z.dtype)
    )


def unpredictable(system, dt):
    step, Q = transition(system, dt)
    moved = step - np.eye(2)
    return np.trace(np.linalg.solve(moved @ system.covariance @ moved.T + Q, Q)) / 2


def test_predicting_no_motion_has_error_one():
    found = held_out_error(still(), Linear().simulate(50, 20, seed=0))
    assert found.error == pytest.approx(1, rel=1e-12) and found.standard_error < 1e-12
    assert found.pairs == 50 * 19


def test_exact_motion_without_noise_has_no_error():
    """Deterministic paths by the matrix exponential: what is left is the Runge-Kutta scheme's O(dt^5)."""
    system = Linear()
    step = np.asarray(np.linalg.matrix_power(np.eye(2) + system.drift_matrix * 1e-6, 10_000))
    paths = [np.stack([np.linalg.matrix_power(step, k) @ start for k in range(20)]) for start in np.eye(2)]
    assert held_out_error(system.dynamics, Trajectories.from_arrays(paths, dt=0.01)).error < 1e-6


def test_the_true_drift_is_better_than_a_wrong_one_by_more_than_the_error_bar():
    """With C = (e^A dt - 1) S^-1 (e^A dt - 1)^T + Q the noise Q alone leaves Tr(C^-1 Q) / D.

    Over 20 seeds at most 1.9 errors off.
    """
    data = Linear(1.0).simulate(500, 101, scheme="exact", stationary=True, seed=3)
    right, wrong = (held_out_error(Linear(s).dynamics, data) for s in (1.0, 0.0))
    assert right.error + 5 * (right.standard_error + wrong.standard_error) < wrong.error
    assert abs(right.error - unpredictable(Linear(1.0), 0.01)) < 5 * right.standard_error


@pytest.mark.parametrize("model", [None, 3, "drift"])
def test_what_has_no_drift_is_refused(model):
    with pytest.raises(InputError, match="`model` must be a fit or a model with a drift"):
        held_out_error(model, Linear().simulate(2, 5))
    with pytest.raises(InputError, match="`data` must be Trajectories"):
        held_out_error(still())
