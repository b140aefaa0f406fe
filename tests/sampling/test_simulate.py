"""Simulated paths against processes whose mean and variance are known."""

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.data import Scaling
from uidd.dynamics import ClosedFormDynamics
from uidd.models import Architecture, Model
from uidd.sampling import simulate
from uidd.systems import Linear

NOTHING = np.zeros((1, 1))
LINEAR = Linear().dynamics  # one object: what is compiled for it once serves all tests


def one_dimensional(V, sigma):
    return ClosedFormDynamics(
        lambda z: V(z[0]), lambda z: sigma(z[0])[None, None], lambda z: jnp.asarray(NOTHING)
    )


@pytest.mark.parametrize("solver", [diffrax.Euler(), diffrax.Heun()], ids=["Ito", "Stratonovich"])
def test_ito_and_stratonovich_solvers_solve_the_same_equation(solver):
    """V = a log z and sigma = s z give M = s^2 z^2 / 2 and dZ = mu Z dt + s Z dB, mu = s^2 (1 - a/2).

    E Z_t = z0 e^(mu t) and E Z_t^2 = z0^2 e^((2 mu + s^2) t). A forgotten correction would put s^2 / 2 on mu,
    13 % on the mean at t = 1, which is 14 standard errors. The steps' own bias is below 0.1 %.
    """
    s, a = 0.5, 4.0
    mu = s**2 * (1 - a / 2)
    geometric = one_dimensional(lambda z: a * jnp.log(z), lambda z: s * z)
    paths = simulate(geometric, np.ones((3000, 1)), [0.0, 1.0], seed=3, solver=solver, step=0.01)
    assert paths.result.successful
    z = paths.states[:, 1, 0]
    assert len(np.unique(z)) > 2900  # every path has its own noise
    for value, truth in [(z, np.exp(mu)), (z**2, np.exp(2 * mu + s**2))]:
        assert abs(value.mean() - truth) < 5 * value.std() / len(z) ** 0.5


def test_euler_converges_weakly_with_order_one():
    """dZ = -Z dt + s dB: E Z_t = e^-t, and the bias of steps h is (1 - h)^(t/h) - e^-t ~ -t e^-t h / 2.

    Eight steps to t = 1 and to t = 1/2 halve h; the bias is divided by t e^-t. s = 0.005 and 1000 paths: the
    mean is known to 1e-4, a fiftieth of the smaller bias.
    """
    s = 0.005
    process = one_dimensional(lambda z: z**2 / s**2, lambda z: s + 0 * z)
    bias = []
    for t in (1.0, 0.5):
        paths = simulate(process, np.ones((1000, 1)), [0.0, t], seed=7, step=t / 8)
        bias.append(abs(paths.states[:, 1, 0].mean() - np.exp(-t)) / (t * np.exp(-t)))
    assert abs(np.log2(bias[0] / bias[1]) - 1) < 0.2


def test_the_same_seed_gives_the_same_path_and_another_gives_another():
    times = [2.0, 2.1, 2.3]  # not from zero, not regular
    path = simulate(LINEAR, [1.0, 2.0], times, seed=1, step=0.05)
    again = simulate(LINEAR, [[1.0, 2.0]], times, seed=1, step=0.05)
    other = simulate(LINEAR, [1.0, 2.0], times, seed=2, step=0.05)
    assert path.shape == (3, 2) and again.shape == (1, 3, 2)  # one start gives one path
    np.testing.assert_array_equal(path.states, again[0])
    assert (path[1:] != other[1:]).all()
    np.testing.assert_array_equal(path[0], [1.0, 2.0])
    assert path.step <= 0.05 * (1 + 1e-9) and len(path) == 3
    data = again.to_trajectories()
    np.testing.assert_array_equal(data.states[0], np.asarray(path))
    np.testing.assert_allclose(data.times[0], times)


def test_a_path_that_leaves_the_finite_numbers_is_called_diverged():
    """dZ = -Z^3 dt + ... with a step of one from Z = 10: 10 -> -990 -> 1e9 -> ... overflows."""
    quartic = one_dimensional(lambda z: z**4 / 2, lambda z: 1 + 0 * z)
    paths = simulate(quartic, [[10.0], [0.0]], np.arange(12.0), seed=0, step=1.0)
    assert paths.result.code == "diverged" and "smaller step" in paths.result.message
    assert not np.isfinite(paths.states[0]).all()


WRONG = {
    "one time": {"times": [0.0]},
    "decreasing times": {"times": [0.0, 2.0, 1.0]},
    "equal times": {"times": [0.0, 0.0]},
    "a NaN time": {"times": [0.0, np.nan]},
    "an infinite time": {"times": [0.0, np.inf]},
    "a table of times": {"times": [[0.0, 1.0]]},
    "words for times": {"times": ["a", "b"]},
    "a NaN start": {"x0": [np.nan, 0.0]},
    "an infinite start": {"x0": [[0.0, np.inf]]},
    "a cube of starts": {"x0": np.zeros((2, 2, 2))},
    "words for starts": {"x0": ["a", "b"]},
    "ragged starts": {"x0": [[0.0, 1.0], [2.0]]},
    "no starts": {"x0": np.zeros((0, 2))},
    "a negative step": {"step": -1.0},
    "a step that is a word": {"step": "small"},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_unusable_arguments_are_refused_in_one_sentence(wrong):
    name = next(iter(wrong))
    with pytest.raises(InputError, match=f"`{name}` must be"):
        simulate(LINEAR, **{"x0": [0.0, 0.0], "times": [0.0, 0.1], **wrong}, seed=0)


def test_a_start_of_another_dimension_than_the_model_is_refused(random_dynamics):
    """One coordinate would otherwise broadcast to two in silence."""
    model = Model(random_dynamics("linear", 2, 0), Architecture.named("linear"), Scaling.identity(2))
    for x0 in ([1.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(InputError, match="`x0` must be states of 2 coordinates"):
            simulate(model, x0, [0.0, 1.0], seed=0)
