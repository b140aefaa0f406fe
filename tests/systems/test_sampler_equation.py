"""Steps and stationary states of a sampler's equation, chains that are lost, and channels without labels."""

from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.systems import (
    SamplerEquation,
    sgld,
    sgld_ica,
    sgld_least_squares,
    stationary_states,
    without_labels,
)

SEED = 0


@pytest.fixture(scope="module", autouse=True)
def compiled_quickly(hardly_optimised):
    """Every program here runs a few times only."""
    jax.config.update("jax_disable_most_optimizations", True)


EIGHT = [
    np.diag(signs) @ np.eye(2)[list(order)]
    for signs in product((1, -1), repeat=2)
    for order in permutations(range(2))
]


def within_five_errors(samples, expected):
    """Whether the mean of samples is as expected, to five standard errors of theirs."""
    error = samples.std(axis=0) / len(samples) ** 0.5
    return (np.abs(samples.mean(axis=0) - expected) <= 5 * error + 1e-12).all()


def products(x):
    return np.einsum("ni,nj->nij", x, x)


def distance(z, x):
    return z - x


SAMPLERS = {
    "least squares": sgld_least_squares(8),
    "least squares without replacement": sgld_least_squares(8, replacement=False),
    "all data": sgld_least_squares(None),
    "ica": sgld_ica(4),
}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_a_step_of_the_equation_has_its_mean_and_covariance(sampler, x64):
    """f dt and 2 M dt, though no root of M is taken."""
    equation, dt = SamplerEquation(sampler), 0.02
    z = jnp.asarray(np.random.default_rng(1).uniform(-2, 2, 4 if sampler is SAMPLERS["ica"] else 12))
    keys = jax.random.split(jax.random.key(SEED), 5000)
    steps = np.asarray(jax.jit(jax.vmap(lambda key: equation.increment(z, dt, key)))(keys))
    f, M = (np.asarray(each) for each in jax.jit(lambda z: (equation.drift(z), equation.dissipation(z)))(z))
    assert within_five_errors(steps, dt * f)
    assert within_five_errors(products(steps - dt * f), 2 * M * dt)


def test_states_that_are_followed_become_stationary():
    """force = mean of (x_i - z): dz = -(z - mean) dt + noise of variance v, in Euler steps of dt.

    Their stationary variance is v / (2 - dt), with v = noise + step * variance of the data / b.
    """
    data = np.random.default_rng(2).normal(size=(20, 1))
    sampler = sgld(distance, data, 2, 0.2, 0.3, reduction="mean", dimension=1)
    variance = (0.3 + 0.2 * data.var() / 2) / (2 - 0.05)
    states = stationary_states(SamplerEquation(sampler), np.full((2000, 1), 3.0), 10.0, substeps=4, seed=SEED)
    assert states.shape == (2000, 1)
    assert within_five_errors(states, data.mean())
    assert within_five_errors((states - data.mean()) ** 2, variance)


def test_states_depend_on_the_seed_alone():
    equation, starts = SamplerEquation(sgld_ica(4)), np.tile([1.0, 0.1, 0.2, 1.0], (5, 1)).astype(np.float32)
    first, again, other = (stationary_states(equation, starts, 0.5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert len(np.unique(first, axis=0)) == 5


def cubic(z, x):
    return z**3 + 0 * x


def test_lost_chains_are_counted_and_the_others_kept_as_they_were():
    """z' = z - step z^3 leaves the numbers from |z| > sqrt(2 / step)."""
    sampler = sgld(cubic, np.ones((4, 1)), 1, 0.1, 1e-4, dimension=1, reduction="mean")
    starts = np.where(np.arange(6) % 3 == 1, 20.0, 0.5)[:, None]
    run = sampler.run(6, 40, every=4, start=starts, seed=SEED, drop_lost=True)
    assert run.lost == 2 and run.start.shape == (4, 10, 1) and run.last.shape == (4, 1)
    assert all(np.isfinite(part).all() for part in (run.start, run.increment, run.last))
    near = sampler.run(6, 40, every=4, start=np.full((6, 1), 0.5), seed=SEED, drop_lost=True)
    assert near.lost == 0
    assert np.array_equal(run.start, near.start[[0, 2, 3, 5]])
    assert np.array_equal(run.last, near.last[[0, 2, 3, 5]])


def test_chains_that_are_all_lost_are_an_error_all_the_same():
    sampler = sgld(cubic, np.ones((4, 1)), 1, 0.1, 1e-4, dimension=1, reduction="mean")
    with pytest.raises(InputError, match="3 of 3 diverged"):
        sampler.run(3, 40, start=np.array([20.0]), seed=SEED, drop_lost=True)
    with pytest.raises(InputError, match="1 of 3 diverged"):
        sampler.run(3, 40, start=np.array([[20.0], [0.0], [0.0]]), seed=SEED)


@pytest.mark.parametrize("setting", ["published", "paper"])
def test_force_and_noise_of_ica_move_with_signed_permutations_of_the_rows(setting, fresh_seed, x64):
    """f(P U) = P f(U), and the covariance of the noise, R R^T + step Sigma_b, is turned by P (x) 1."""
    equation = SamplerEquation(sgld_ica(3, setting))
    U = np.random.default_rng(fresh_seed).uniform(-2, 2, (2, 2))
    at = jax.jit(lambda z: (equation.drift(z), equation.dissipation(z), equation.sampler.noise(z)))
    f, M, R = (np.asarray(each) for each in at(U.ravel()))
    for P in EIGHT:
        turn = np.kron(P, np.eye(2))
        moved_f, moved_M, moved_R = (np.asarray(each) for each in at(turn @ U.ravel()))
        np.testing.assert_allclose(moved_f, turn @ f, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(moved_M, turn @ M @ turn.T, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(moved_R @ moved_R.T, turn @ R @ R.T @ turn.T, rtol=1e-10, atol=1e-10)


def test_without_labels_all_eight_wells_are_one(fresh_seed):
    """And what belongs to a state is moved by the same signed permutation; a second time nothing moves."""
    generator = np.random.default_rng(fresh_seed)
    states, steps = generator.standard_normal((2, 7, 5, 4))
    (plain, moved) = without_labels(states, steps)
    assert plain.shape == moved.shape == states.shape
    U = plain.reshape(-1, 2, 2)
    assert (np.diagonal(U, axis1=1, axis2=2) >= 0).all()
    assert (np.abs(U[:, 0, 0] * U[:, 1, 1]) >= np.abs(U[:, 0, 1] * U[:, 1, 0])).all()
    assert all(
        np.array_equal(a, b) for a, b in zip(without_labels(plain, moved), (plain, moved), strict=True)
    )
    for P in EIGHT:
        turn = np.kron(P, np.eye(2))
        again = without_labels(states @ turn.T, steps @ turn.T)
        assert np.array_equal(again[0], plain) and np.array_equal(again[1], moved)


def test_without_labels_a_state_is_moved_by_one_of_the_eight(fresh_seed):
    states = np.random.default_rng(fresh_seed).standard_normal((20, 4))
    (plain,) = without_labels(states)
    for before, after in zip(states, plain, strict=True):
        assert sum(np.array_equal(np.kron(P, np.eye(2)) @ before, after) for P in EIGHT) == 1
