"""Far from the origin nothing changes: paths, draws and rates of a model only move along.

A model in (center, scale, time) is the model in (0, 1, 1) seen in other units, so with the same seed
every draw is the same number, shifted, scaled, and rounded once in double precision.
"""

import jax
import numpy as np
import pytest

from uidd.components import Constant, Full, SumOfSquares
from uidd.data import Scaling
from uidd.models import Architecture, Model
from uidd.sampling import sample_stationary, simulate
from uidd.thermodynamics import entropy_production_rate

CENTER, SCALE, TIME = np.array([1e8, -3e7]), np.array([0.5, 2.0]), 4.0
ARCHITECTURE = Architecture(SumOfSquares(4, (4,)), Constant("full"), Full((4,)))


@pytest.fixture(scope="module")
def models():
    """The same weights in unit size, and far away in other units."""
    unit = ARCHITECTURE.build(2, key=jax.random.key(0))
    far = Scaling(tuple(CENTER.tolist()), tuple(SCALE.tolist()), TIME)
    starts = np.random.default_rng(0).standard_normal((8, 2))
    return [
        Model(unit, ARCHITECTURE, scaling, tuple(map(tuple, scaling.to_user(starts).tolist())))
        for scaling in (Scaling.identity(2), far)
    ]


def test_simulated_paths_are_the_same_numbers_elsewhere(models):
    near, far = models
    times, start = np.linspace(0, 1, 6), np.array([[0.3, -0.2], [1.0, 0.5]])
    here = simulate(near, start, times, seed=1).states
    there = simulate(far, CENTER + SCALE * start, TIME * times, seed=1).states
    # One rounding at 1e8 in double precision is 1e-8.
    np.testing.assert_allclose((there - CENTER) / SCALE, here, atol=1e-5)


def test_draws_and_the_rate_are_the_same_numbers_elsewhere(models):
    near, far = models
    here, there = (sample_stationary(m, 400, seed=2) for m in (near, far))
    np.testing.assert_allclose((there.states - CENTER) / SCALE, here.states, atol=1e-4)
    rates = [entropy_production_rate(m, s).rate for m, s in ((near, here), (far, there))]
    np.testing.assert_allclose(rates[1] * TIME, rates[0], rtol=1e-3)
