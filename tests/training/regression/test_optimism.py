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
from uidd.training.regression.features import features
from uidd.training.regression.misfit import drift_misfit, left_in
from uidd.training.regression.optimism import Optimism
from uidd.training.solvers.fisher_information import jacobian_of_mean
from uidd.training.solvers.sample import Sample

COUNT, PLANE = 6000, 2


def regression(seed, prior=0.0, fitted_share=0.8, missing=0.0):
    """Noise in a plane, of which a regression in broad steps has been fitted to most pairs.

    Both outputs have the features of their own, so J of a pair is the features for one output, and zero for
    the other. With a prior of precision l the coefficients are drawn from it. What is missing is a drift in
    fine steps that broad ones cannot follow.
    """
    generator = np.random.default_rng(seed)
    z, eps = generator.standard_normal((2, COUNT, PLANE))
    fitted = np.arange(COUNT) < fitted_share * COUNT
    by_name = {each.name: each.values for each in features(z)}
    X, fine = by_name["broad steps"], by_name["fine steps"]
    true = generator.standard_normal((X.shape[1], PLANE)) * (prior**-0.5 if prior else 0.0)
    if missing:
        pull = fine @ generator.standard_normal((fine.shape[1], PLANE))
        pull -= X @ np.linalg.lstsq(X, pull)[0]
        eps = eps + pull * np.sqrt(2 * missing / np.sum(pull**2))
    ridge = np.concatenate([X[fitted], prior**0.5 * np.eye(X.shape[1])])
    target = np.concatenate([(X @ true + eps)[fitted], np.zeros((X.shape[1], PLANE))])
    found = np.linalg.lstsq(ridge, target)[0]
    rows = np.zeros((COUNT, PLANE, PLANE * X.shape[1]), np.float32)
    for d in range(PLANE):
        rows[:, d, d * X.shape[1] : (d + 1) * X.shape[1]] = X
    L = np.full(rows.shape[2], prior)
    total = int(fitted.sum())
    optimism = Optimism.drawn(
        rows, L, L * found.T.ravel(), np.arange(COUNT), fitted, share=1.0, total=total, generator=generator
    )
    return X, z, eps + X @ (true - found), optimism


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.0, 30.0])
def test_residuals_of_a_flexible_fit_hold_nothing(prior):
    """Ten draws: the chance is below 5 % in at most three (binomial, 1e-3), and not always near one, as it
    is without what the fit has taken."""
    new, old = [], []
    for seed in range(10):
        _, z, xi, optimism = regression(seed, prior)
        new.append(drift_misfit(z, xi, optimism).chance)
        old.append(drift_misfit(z, xi).chance)
    assert np.sum(np.array(new) < 0.05) <= 3 and min(new) > 1e-3
    assert min(new) < 0.9 and np.mean(old) > np.mean(new)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_draws_have_the_covariance_that_a_fit_takes(share):
    """X (X^T X)^-1 X^T between pairs that were fitted, here of one output: squares of sums of the draws
    along three directions, to five of their errors of 2 in 64 draws of two outputs."""
    X, _, _, optimism = regression(0, fitted_share=share)
    own = optimism.fitted
    y = np.linalg.qr(np.random.default_rng(1).standard_normal((own.sum(), 3)))[0]
    hat = X[own] @ np.linalg.lstsq(X[own], y)[0]
    sums = np.einsum("ny,ndk->ydk", y, optimism.moves[own])
    expected = np.sum(y * hat)
    count = sums.size
    assert abs(np.sum(sums**2) / count * 3 - expected) < 5 * expected * (2 / count) ** 0.5


@pytest.mark.slow
def test_what_is_left_is_zero_on_average_from_all_pairs_or_some():
    """Of the features that were fitted, to five errors of 20 draws; from one pair in six it is as much."""
    without, of_all, of_some = [], [], []
    for seed in range(20):
        X, _, xi, optimism = regression(seed)
        index = np.sort(np.random.default_rng(seed).choice(COUNT, COUNT // 6, replace=False))
        some = Optimism(optimism.moves[index], optimism.held_back[index], index, optimism.fitted[index], 6.0)
        for found, each in ((without, None), (of_all, optimism), (of_some, some)):
            found.append(left_in(lambda known, last, X=X: X[:last], (xi, each))[0].nats)
    errors = [5 * np.std(found) / len(found) ** 0.5 for found in (without, of_all, of_some)]
    assert np.mean(without) < -errors[0]
    assert abs(np.mean(of_all)) < errors[1] and abs(np.mean(of_some)) < errors[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_misfit_behind_a_flexible_fit_is_seen(seed):
    """A hundred nats. The fit has taken as many as half of its 96 coefficients, of which fine steps could
    foretell some."""
    _, z, xi, optimism = regression(seed, prior=10.0, missing=100.0)
    found, without = drift_misfit(z, xi, optimism), drift_misfit(z, xi)
    assert found.chance < 1e-4 and found.chance < 0.05 * without.chance
    assert found.nats > without.nats + 5


@pytest.mark.slow
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
