"""How far the data reach: closed forms of the wall, and draws that stay where data are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd import sample_stationary
from uidd._checks import InputError
from uidd.data import Scaling
from uidd.models import Architecture, Coefficients, Ensemble, Model
from uidd.sampling import Reach
from uidd.systems import Linear
from uidd.thermodynamics import entropy_production


@pytest.fixture(scope="module")
def model():
    """V = |z|^2 / 2 in two dimensions."""
    spec = Architecture().plain
    unit = spec.build(2, key=jax.random.key(0))
    found = Model(unit, spec, Scaling.identity(2), anchors=((-1.0, 0.0), (-2.0, 0.0), (-1.5, 0.5)))
    z = np.array([[0.0, 0.0], [1.0, 2.0]], np.float32)
    assert float(found.potential(z[1]) - found.potential(z[0])) == pytest.approx(2.5, rel=1e-5)
    return found


@pytest.mark.parametrize("dimension", [1, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_one_new_state_in_a_hundred_is_farther_than_usual(dimension, seed):
    """The quantile comes from 7,000 states and the share from 8,000: five standard errors of both."""
    generator = np.random.default_rng(seed)
    recorded, new = generator.standard_normal((2, 8000, dimension))
    reach = Reach.of(recorded)
    assert reach.usual < reach.distance.max()
    assert abs(reach.beyond(new) - 0.01) < 5 * (0.01 * 0.99 * (1 / 7000 + 1 / 8000)) ** 0.5
    assert reach.beyond(new + 20) == 1


def test_the_wall_adds_nothing_within_reach_and_32_kT_at_twice_the_distance(model):
    reach = Reach(np.array([[0.0, 0.0], [5.0, 0.0]]), distance=np.array([0.5, 0.5]), usual=0.4)
    walled = reach.walled(model.unit)
    for place, rise in (([0.3, -0.3], 0.0), ([5.0, 0.49], 0.0), ([0.0, 1.0], 32.0), ([6.0, 0.0], 32.0)):
        z = jnp.asarray(place)
        assert float(walled.potential(z) - model.unit.potential(z)) == pytest.approx(rise, abs=1e-3)
    # Its gradient points away from the nearest state: 8 times the rise over the distance to the wall.
    push = walled.potential_gradient(jnp.asarray([0.0, 1.0])) - model.unit.potential_gradient(
        jnp.asarray([0.0, 1.0])
    )
    np.testing.assert_allclose(push, [0.0, 2 * 32 / 0.5], rtol=1e-4)


def test_draws_stay_on_the_side_where_the_data_are(model):
    """V is symmetric; states were recorded on the left alone."""
    generator = np.random.default_rng(0)
    states = generator.standard_normal((40_000, 2))
    left = states[states[:, 0] < -0.5]
    free, kept = (sample_stationary(model, 8000, seed=0, within=near) for near in (None, left))
    assert free.result.successful and kept.result.successful
    assert abs(np.mean(free.states[:, 0] > 0) - 0.5) < 0.05
    assert np.mean(kept.states[:, 0] > 0) < 0.1
    # Within reach e^-V is what it was: a Gaussian, as far as the data.
    inside = kept.states[kept.states[:, 0] < -0.5]
    np.testing.assert_allclose(inside.mean(axis=0), left.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(inside.std(axis=0), left.std(axis=0), atol=0.05)


def test_states_of_dynamics_that_were_not_learned_are_refused():
    with pytest.raises(InputError, match="within"):
        sample_stationary(Linear().dynamics, 100, seed=0, starts=np.zeros((4, 2)), within=np.zeros((100, 2)))


@pytest.mark.parametrize(("width", "code"), [(1.0, "ok"), (1.3, "ok"), (0.4, "extrapolated")])
def test_a_rate_over_draws_beyond_the_data_says_so(model, width, code):
    """Recordings that are not stationary, wider or narrower than e^-V is."""
    size = len(Coefficients.of(model.unit).vector)
    rows = 1e-6 * np.random.default_rng(1).standard_normal((4, size))
    recorded = width * np.random.default_rng(0).standard_normal((8000, 2))
    samples = sample_stationary(model, 8000, seed=0)
    ensemble = Ensemble(model, rows, rows, rows, recorded, recording_is_stationary=False)
    assert entropy_production(ensemble, samples=samples).result == code
