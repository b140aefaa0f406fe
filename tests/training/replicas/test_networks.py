"""Models learned several times over: the entropy production of the linear system, without what noise adds.

Everything is compiled once, in the first fit: some twenty seconds. The other fits take one or two.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.components import Full, SumOfSquares, Triangular
from uidd.data import Transitions
from uidd.models import Architecture
from uidd.systems import Linear
from uidd.thermodynamics import cross_fitted_entropy_production
from uidd.training import Plan, fit_linear, fit_replicas

pytestmark = pytest.mark.slow

SMALL = Architecture(SumOfSquares(4, (8,)), Triangular((8,)), Full((8,)))
PLAN = Plan(steps=200, batch=256, learning_rate=5e-3, steps_per_epoch=100)
STATES = np.random.default_rng(7).multivariate_normal(np.zeros(2), Linear().covariance, 4000)


@pytest.fixture(scope="module", autouse=True)
def compiled_quickly(hardly_optimised):
    """Every program here runs a few times only."""
    jax.config.update("jax_disable_most_optimizations", True)


def parts_of(strength, seed=0, count=4):
    """Stationary Euler paths, divided among the parts path by path."""
    data = Linear(strength).simulate(200, 101, scheme="euler", stationary=True, seed=seed).transitions()
    length = len(data.dt) // count
    return [Transitions(*(each[k * length : (k + 1) * length] for each in data)) for k in range(count)]


def learned(parts, seed=0):
    return fit_replicas(parts, architecture=SMALL, plan=PLAN, seed=seed)


@pytest.fixture(scope="module")
def driven():
    return learned(parts_of(1.0))


@pytest.fixture(scope="module")
def at_rest():
    return learned(parts_of(0.0))


def test_the_corrected_rate_is_that_of_the_linear_system_and_the_plug_in_above_it(driven):
    found = cross_fitted_entropy_production(driven.models, STATES)
    assert abs(found.corrected.rate - 47.0598) < 5 * found.corrected.standard_error
    assert found.plug_in > found.corrected.rate


def test_the_free_currents_give_the_same_rate(driven):
    """Those of trained networks, kept or not: what W and V of a short training have wrong counts little."""
    found = cross_fitted_entropy_production(driven.refined, STATES, currents=driven.currents(STATES))
    assert abs(found.corrected.rate - 47.0598) < 5 * found.corrected.standard_error


def test_at_equilibrium_the_corrected_rate_is_zero_and_the_plug_in_is_not(at_rest):
    for currents in (None, at_rest.currents(STATES)):
        found = cross_fitted_entropy_production(at_rest.models, STATES, currents=currents)
        assert abs(found.corrected.rate) < 5 * found.corrected.standard_error
        assert found.plug_in > 0.005


def test_networks_that_bring_nothing_leave_the_linear_models(driven):
    """In the user's coordinates those of `fit_linear`, part by part."""
    assert driven.trained == (False,) * 4 and driven.features == ((1, 0), (0, 0)) and len(driven) == 4
    z = np.array([0.2, -0.3])
    for model, part in zip(driven.models, parts_of(1.0), strict=True):
        linear = fit_linear(part, euler=True)
        M = linear.diffusion @ linear.diffusion.T / 2
        drift = -(M + linear.circulation) @ linear.stiffness @ (z - linear.mean)
        np.testing.assert_allclose(model.drift(z), drift, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(model.dissipation(z), M, rtol=1e-3, atol=1e-6)
        assert model.architecture == SMALL.plain


def test_the_record_says_how_it_went(driven):
    assert driven.result.successful and driven.seconds > 0
    assert list(driven.histories) == ["noise", "potential", "circulation"]
    assert all(history.shape == (3, 4) for history in driven.histories.values())
    assert len(driven.gains) == len(driven.misfit) == len(driven.refined) == len(driven.fields) == 4
    assert all(model.architecture == SMALL for model in driven.refined)


def test_the_free_drift_is_the_regression_of_the_increments(driven):
    """f - f_rev of the free fields, plus f_rev of the refined model, is the linear regression's f."""
    states = STATES[:3]
    for model, current, part in zip(driven.refined, driven.currents(states), parts_of(1.0), strict=True):
        design = np.column_stack([part.start, np.ones(len(part.dt))])
        solution, *_ = np.linalg.lstsq(design, part.increment / part.dt[:, None], rcond=None)
        expected = np.column_stack([states, np.ones(3)]) @ solution
        reversible = np.stack([model.reversible_drift(z) for z in states])
        np.testing.assert_allclose(current + reversible, expected, rtol=1e-3, atol=1e-3)


def test_the_same_seed_gives_the_same_numbers(driven):
    again, other = learned(parts_of(1.0)), learned(parts_of(1.0), seed=1)
    assert again.gains == driven.gains and again.misfit == driven.misfit
    for name, history in driven.histories.items():
        assert np.array_equal(history, again.histories[name])
    assert np.array_equal(again.currents(STATES), driven.currents(STATES))
    assert other.gains != driven.gains


def test_longer_parts_are_cut_to_the_shortest(driven):
    """What is behind the length of the shortest part is not looked at, but for the scale."""
    parts = parts_of(1.0)
    longer = [parts[0], *(Transitions(*(np.concatenate([each, each[:50]]) for each in p)) for p in parts[1:])]
    assert learned(longer).features == driven.features


def test_training_that_leaves_the_numbers_is_reported():
    """Steps of 1e30 leave the numbers; the result has words, and the models are the linear ones."""
    plan = replace(PLAN, learning_rate=1e30)
    found = fit_replicas(parts_of(1.0), architecture=SMALL, plan=plan)
    assert found.result.code == "not_finite" and "last weights" in found.result.message
    assert all(np.isfinite(np.asarray(model.drift(np.zeros(2)))).all() for model in found.models)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_parts_are_refused_in_one_sentence(count):
    with pytest.raises(InputError, match=f"`parts` must be at least two sets of pairs; got {count}"):
        fit_replicas(parts_of(1.0)[:count])
