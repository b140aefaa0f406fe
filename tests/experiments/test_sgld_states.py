"""Where the means of the study of batch sizes are taken: states that follow the models, and none astray."""

import numpy as np
import pytest
import scipy.linalg

from stand_ins import linear_model
from uidd.data import Scaling
from uidd.experiments.sgld.paths import are_outside_support, settled

SCALINGS = (Scaling((0.5, -1.0), (2.0, 0.3), 4.0), Scaling((0.0, 0.0), (1.0, 1.0), 1.0))
M, W = np.diag([1.0, 0.5]), np.array([[0.0, 1.0], [-1.0, 0.0]])
STIFFNESS = np.array([[2.0, 0.5], [0.5, 1.0]])
STEP = 0.1


def test_settled_states_have_the_density_of_the_models_own_steps():
    """C = (1 + A h) C (1 + A h)^T + 2 M h of Euler's chain, though all begin in one point far away."""
    models = [linear_model(M, W, STIFFNESS, scaling) for scaling in SCALINGS]
    states = settled(models, np.full((8000, 2), 3.0), 20.0, STEP, seed=0)
    one_step = np.eye(2) - STEP * (M + W) @ STIFFNESS
    exact = scipy.linalg.solve_discrete_lyapunov(one_step, 2 * STEP * M)
    for half in np.split(states.astype(float), 2):  # each of them has followed one model
        # The standard error of a Gaussian covariance, and of its mean.
        error = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / len(half))
        assert np.all(np.abs(half.mean(axis=0)) < 5 * np.sqrt(np.diag(exact) / len(half)))
        assert np.all(np.abs(np.cov(half.T) - exact) < 5 * error)


def test_the_steps_are_as_many_as_the_time_has():
    """After one step from a point there is one kick of noise, and the drift of one step."""
    states = settled([linear_model(M, W, STIFFNESS, SCALINGS[0])], np.ones((8000, 2)), STEP, STEP, seed=1)
    mean = np.ones(2) - STEP * (M + W) @ STIFFNESS @ np.ones(2)
    assert np.all(np.abs(states.mean(axis=0) - mean) < 5 * np.sqrt(2 * STEP * np.diag(M) / 8000))
    np.testing.assert_allclose(states.var(axis=0), 2 * STEP * np.diag(M), rtol=5 * np.sqrt(2 / 8000))


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_states_further_out_than_the_recorded_are_outside_support_in_any_units(scale):
    generator = np.random.default_rng(0)
    root = scale * np.array([[1.0, 0.0, 0.0], [0.9, 0.2, 0.0], [0.0, 0.0, 1e3]])
    recorded, same = (generator.standard_normal((40_000, 3)) @ root.T for _ in range(2))
    # One in ten thousand of the same density: four here, with a deviation of two.
    assert are_outside_support(same, recorded).sum() <= 4 + 5 * 2
    # Six deviations out, along the narrow direction as along the wide one; four are nothing special.
    narrow = scale * np.array([0.0, 0.2, 0.0])
    assert are_outside_support(
        np.array([6 * narrow, 6 * root[:, 2], [np.nan, 0, 0], [np.inf, 0, 0]]), recorded
    ).all()
    assert not are_outside_support(np.array([4 * narrow, 4 * root[:, 2], 4 * root[:, 0]]), recorded).any()
