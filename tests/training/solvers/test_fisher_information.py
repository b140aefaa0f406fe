"""The information matrix of few pairs or few random rows, against that of all."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from uidd.data import Transitions
from uidd.likelihood import Cubature, EulerMaruyama
from uidd.models import Architecture, Coefficients
from uidd.models.coefficients import COMPONENTS
from uidd.training.solvers import fisher_information
from uidd.training.solvers.fisher_information import _most_informative, fisher
from uidd.training.solvers.sample import Sample
from uidd.training.solvers.scores import log_densities, mean_loss


def linear(dimension, random_dynamics, pairs=4096):
    weights = Coefficients.of(random_dynamics(Architecture().plain, dimension, 0))
    generator = np.random.default_rng(0)
    z, move = generator.standard_normal((2, pairs, dimension))
    data = Sample(Transitions(z, 0.1 * move, np.full(pairs, 0.1)), np.zeros(pairs, int), 1)
    return weights, data


def calm():
    """All networks, with readouts so small that no pair's rows are a hundred times as large as usual."""
    weights = Coefficients.of(Architecture().build(2, key=jax.random.key(0)))
    small = 0.05 * np.random.default_rng(0).standard_normal(len(weights.vector))
    return Coefficients.of(weights.dynamics(weights.vector + small))


def all_rows_squared(weights, likelihood, data):
    """J^T J with all rows and columns."""
    start, _, dt = (jnp.asarray(part, jnp.result_type(float)) for part in data.pairs)
    vector, unravel = ravel_pytree(weights.chosen)

    def rows(z, h):
        _, root = likelihood.moments(eqx.combine(weights.chosen, weights.frozen), z, h)
        y = lambda v: likelihood.deviations(eqx.combine(unravel(v), weights.frozen), z, h, root)  # noqa: E731
        return jax.jacrev(y)(vector)

    J = np.asarray(jax.jit(jax.vmap(rows))(start, dt), np.float64).reshape(-1, len(vector))
    return J.T @ J


@pytest.mark.parametrize("dimension", [2, 5])
def test_the_information_of_some_pairs_is_that_of_all_up_to_chance(dimension, random_dynamics, monkeypatch):
    """About 1,024 of 4,096 pairs. An entry of the diagonal is a mean of squares of squares of normal numbers,
    whose relative standard deviation is at most sqrt(95) a pair: five standard errors are below 1.6, and a
    missing factor of four is beyond."""
    weights, data = linear(dimension, random_dynamics)
    everything = np.diag(fisher(weights, weights.vector, EulerMaruyama(), data, seed=0))
    monkeypatch.setattr(fisher_information, "MOST_PRODUCTS", 1)
    monkeypatch.setattr(fisher_information, "FEWEST_FORMED", 1024 * fisher_information.FORMED)
    some = np.diag(fisher(weights, weights.vector, EulerMaruyama(), data, seed=0))
    seen = everything > 0
    assert seen.any() and (some[~seen] == 0).all()
    ratio = some[seen] / everything[seen]
    assert np.abs(ratio - 1).max() < 5 * 95**0.5 / 1024**0.5
    assert abs(ratio.mean() - 1) < 0.3


def test_mixed_rows_give_the_information_on_average(random_dynamics):
    """Against J^T J with all 14 rows. Random signs leave an entry, relative to its diagonal, uncertain by at
    most sqrt(2 / 9) times sqrt(95) a pair (as above): five standard errors over 4,096 pairs are .36."""
    weights, data = linear(4, random_dynamics)
    mixed = fisher(weights, weights.vector, Cubature(1, 2), data, seed=0)
    exact = all_rows_squared(weights, Cubature(1, 2), data)
    scale = np.sqrt(np.maximum(np.diag(exact), 1e-30))
    assert np.abs((mixed - exact) / scale / scale[:, None]).max() < 5 * (2 / 9 * 95 / 4096) ** 0.5


def test_one_wild_pair_is_not_the_mean_loss(random_dynamics):
    """It counts as at most 20 + 10 nats below the median, as in training."""
    weights, data = linear(2, random_dynamics)
    increment = data.pairs.increment.copy()
    increment[17] = 1e9
    wild = Sample(Transitions(data.pairs.start, increment, data.pairs.dt), data.block, data.blocks)
    calm, moved = (mean_loss(weights, weights.vector, EulerMaruyama(), part) for part in (data, wild))
    plain = -log_densities(weights, weights.vector, EulerMaruyama(), wild).mean()
    assert plain > 1e6
    assert calm < moved < calm + 60 / len(data)


def test_the_information_of_eulers_density_comes_in_two_parts(random_dynamics):
    """The covariance's rows are asked for sigma's columns alone; against J^T J with all rows and columns."""
    weights = calm()
    _, data = linear(2, random_dynamics, pairs=512)
    found = fisher(weights, weights.vector, EulerMaruyama(), data, seed=0)
    exact = all_rows_squared(weights, EulerMaruyama(), data)
    scale = np.sqrt(np.maximum(np.diag(exact), 1e-30))
    assert np.abs((found - exact) / scale / scale[:, None]).max() < 1e-4


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_information_of_one_component_is_its_block(component, random_dynamics):
    weights = calm()
    _, data = linear(2, random_dynamics, pairs=512)
    own = weights.component == COMPONENTS.index(component)
    found = fisher(weights, weights.vector, EulerMaruyama(), data, seed=0, of=component)
    exact = all_rows_squared(weights, EulerMaruyama(), data) * np.outer(own, own)
    scale = np.sqrt(np.maximum(np.diag(exact), 1e-30))
    assert own.any() and not found[~own].any()
    assert np.abs((found - exact) / scale / scale[:, None]).max() < 1e-4


def test_a_pair_that_alone_knows_a_coefficient_is_always_taken():
    """300 of 4,096 pairs for 40 coefficients, each of the last ten known by one pair: a random part would
    have seven in a hundred of these."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((4096, 2, 40))
    rows[:, :, 30:] = 0.0
    rows[np.arange(10), :, 30 + np.arange(10)] = 1e-3
    for seed in range(20):
        taken, stands_for = _most_informative(rows, np.ones(4096), 300, np.random.default_rng(seed))
        assert abs(len(taken) - 300) < 5 * 300**0.5
        known = (taken[:, :, 30:] != 0).any(axis=1)
        assert known.any(axis=0).all() and stands_for[known.any(axis=1)] == pytest.approx(1.0)


def test_the_information_of_the_pairs_that_are_taken_is_that_of_all_on_average():
    """Every entry over 400 draws, against its standard error; rows of very different size, each standing for
    more than itself. The largest of 36 normal numbers is below 4.5 but in one of 4,000 tests."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((1000, 3, 8)) * np.exp(2 * generator.standard_normal((1000, 1, 1)))
    share = np.exp(generator.standard_normal(1000))
    exact = np.einsum("n,nri,nrj->ij", share, rows, rows)
    found = []
    for seed in range(400):
        taken, stands_for = _most_informative(rows, share, 200, np.random.default_rng(seed))
        found.append(np.einsum("n,nri,nrj->ij", stands_for, taken, taken))
    error = np.std(found, axis=0) / 400**0.5
    assert np.abs((np.mean(found, axis=0) - exact) / error).max() < 4.5
