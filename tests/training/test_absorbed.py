"""What a fit takes out of residuals: against least squares that are done, and what a misfit then shows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from uidd.data import Transitions
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture, Coefficients
from uidd.training.absorbed import Absorbed
from uidd.training.gains import _bounded, _features, _whitened, drift_misfit
from uidd.training.information import jacobian_of_mean
from uidd.training.local_posterior import Factored
from uidd.training.sample import Sample

COUNT, PLANE = 6000, 2


def regression(seed, prior=0.0, fitted_share=0.8, missing=0.0):
    """Noise in a plane, of which a regression in fine steps has been fitted to most pairs.

    Both outputs have the features of their own, so J of a pair is the features for one output, and zero for
    the other. With a prior of precision l the coefficients are drawn from it.
    """
    generator = np.random.default_rng(seed)
    z, eps = generator.standard_normal((2, COUNT, PLANE))
    fitted = np.arange(COUNT) < fitted_share * COUNT
    *_, (_, X) = [each for each in _features(_bounded(_whitened(z))) if each[0] == "fine steps"]
    gram = X[fitted].T @ X[fitted] + prior * np.eye(X.shape[1])
    true = generator.standard_normal((X.shape[1], PLANE)) * (prior**-0.5 if prior else 0.0)
    if missing:
        cells = np.concatenate([f for name, f in _features(_bounded(_whitened(z))) if name == "cells"])
        pull = cells @ generator.standard_normal((cells.shape[1], PLANE))
        eps = eps + pull * np.sqrt(2 * missing / np.sum(pull**2))
    found = np.linalg.solve(gram, X[fitted].T @ (X @ true + eps)[fitted])
    rows = np.zeros((COUNT, PLANE, PLANE * X.shape[1]), np.float32)
    for d in range(PLANE):
        rows[:, d, d * X.shape[1] : (d + 1) * X.shape[1]] = X
    factor = Factored.of(np.kron(np.eye(PLANE), gram))
    return z, eps + X @ (true - found), Absorbed(rows, np.arange(COUNT), fitted, 1.0, factor)


@pytest.mark.parametrize("prior", [0.0, 30.0])
def test_residuals_of_a_flexible_fit_hold_nothing(prior):
    """Ten draws: the chance is below 5 % in at most three (binomial, 1e-3), and not always near one, as it
    is without what the fit has taken."""
    new, old = [], []
    for seed in range(10):
        z, xi, absorbed = regression(seed, prior)
        new.append(drift_misfit(z, xi, absorbed.between).chance)
        old.append(drift_misfit(z, xi).chance)
    assert np.sum(np.array(new) < 0.05) <= 3 and min(new) > 1e-3
    assert min(new) < 0.9 and np.mean(old) > np.mean(new)


def test_it_is_minus_the_covariance_that_the_fit_has_made():
    """1 - H between fitted pairs, 1 + H between others: sums of squares of many draws, to five errors."""
    generator, sums = np.random.default_rng(0), []
    y = np.linalg.qr(generator.standard_normal((COUNT, 3)))[0]
    for seed in range(60):
        _, xi, absorbed = regression(seed, fitted_share=0.5)
        made = np.eye(6) + absorbed.between(y)
        sums.append(np.sum((y.T @ xi) ** 2) - np.trace(made))
    assert abs(np.mean(sums)) < 5 * np.std(sums) / len(sums) ** 0.5


def test_some_pairs_tell_it_without_bias():
    """A square of sums over one pair in six would be too large by six times what its noise is."""
    z, _, absorbed = regression(0)
    y = np.linalg.qr(np.tanh(np.stack([z[:, 0], 2 * z[:, 1], z[:, 0] - z[:, 1]], axis=1)))[0]
    exact, found = np.trace(absorbed.between(y)), []
    for seed in range(40):
        index = np.random.default_rng(seed).choice(COUNT, COUNT // 6, replace=False)
        some = Absorbed(absorbed.rows[index], index, absorbed.fitted[index], 6.0, absorbed.factor)
        found.append(np.trace(some.between(y)))
    assert abs(np.mean(found) - exact) < 5 * np.std(found) / len(found) ** 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_misfit_behind_a_flexible_fit_is_seen(seed):
    """Three hundred nats that differ from cell to cell, of which the steps of the fit follow a part. The
    noise of 288 squares is 12 nats, and the fit has taken some hundred: without these little is left."""
    z, xi, absorbed = regression(seed, prior=10.0, missing=300.0)
    found, without = drift_misfit(z, xi, absorbed.between), drift_misfit(z, xi)
    assert found.chance < 1e-5 * without.chance and found.nats > without.nats + 25


@pytest.mark.parametrize("dimension", [2, 12])
def test_rows_are_derivatives_of_residuals(dimension, random_dynamics):
    """In twelve dimensions there are more of them than are formed at once."""
    weights = Coefficients.of(random_dynamics(Architecture().plain, dimension, 0))
    start, move = np.random.default_rng(0).standard_normal((2, 64, dimension))
    data = Sample(Transitions(start, 0.1 * move, np.full(64, 0.1)), np.zeros(64, int), 1)
    found = jacobian_of_mean(weights, weights.vector, EulerMaruyama(), data)
    vector, unravel = ravel_pytree(weights.chosen)
    z, dt = (jnp.asarray(part[5], jnp.result_type(float)) for part in (data.pairs.start, data.pairs.dt))
    _, root = EulerMaruyama().moments(eqx.combine(weights.chosen, weights.frozen), z, dt)

    def mean(vector):
        shift, _ = EulerMaruyama().moments(eqx.combine(unravel(vector), weights.frozen), z, dt)
        return jnp.linalg.solve(root, shift)

    expected = jax.jacobian(mean)(vector)
    assert found.shape == (64, dimension, len(weights.vector))
    np.testing.assert_allclose(found[5], expected, rtol=1e-4, atol=1e-5 * float(np.abs(expected).max()))
