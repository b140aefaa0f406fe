"""Chains of stochastic gradient Langevin dynamics against their equation, and two problems in closed form."""

from dataclasses import replace
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.systems import SamplerEquation, sgld, sgld_ica, sgld_least_squares

SEED = 0


def within_five_errors(samples, expected):
    """Whether the mean of samples is as expected, to five standard errors of theirs."""
    error = samples.std(axis=0) / len(samples) ** 0.5
    return (np.abs(samples.mean(axis=0) - expected) <= 5 * error).all()


def products(x):
    return np.einsum("ni,nj->nij", x, x)


def squared_distance(z, x):
    return jnp.sum((z - x) ** 2) / 2


DISTANCE = jax.grad(squared_distance)


@pytest.fixture(scope="module")
def small():
    """Six data in three dimensions, few enough to count all batches of three."""
    generator = np.random.default_rng(1)
    return generator.normal(size=(6, 3)), generator.normal(size=6), generator.normal(size=3)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("batch_size", [1, 3, 6])
def test_the_equation_has_the_mean_and_covariance_of_all_batches(small, batch_size, replacement, x64):
    """Every batch once: 6^b of them with replacement, 6 choose b without."""
    A, v, z = small

    def loss(z, datum):
        return (datum[0] @ z - datum[1]) ** 2 / 2

    step, noise = 0.1, 0.3
    sampler = sgld(jax.grad(loss), (A, v), batch_size, step, noise, dimension=3, replacement=replacement)
    if replacement:
        batches = list(product(range(6), repeat=batch_size)) if batch_size < 6 else None
    else:
        batches = list(combinations(range(6), batch_size))
    single = -6 * (A @ z - v)[:, None] * A
    if batches is None:  # 6^6 batches; independent data add their covariances
        mean, covariance = single.mean(axis=0), np.cov(single.T, bias=True) / 6
    else:
        forces = np.stack([single[list(batch)].mean(axis=0) for batch in batches])
        mean, covariance = forces.mean(axis=0), np.cov(forces.T, bias=True)
    equation = SamplerEquation(sampler)
    drift, diffusion = equation.drift_and_diffusion(jnp.asarray(z))
    assert np.allclose(drift, mean, rtol=1e-12)
    assert np.allclose(equation.batch_covariance(jnp.asarray(z)), covariance, rtol=1e-10, atol=1e-12)
    assert np.allclose(diffusion @ diffusion.T, noise * np.eye(3) + step * covariance, rtol=1e-10)


def test_all_data_have_no_batch_covariance(small, x64):
    z = jnp.asarray(np.random.default_rng(2).normal(size=12))
    for batch_size in (66, None):
        equation = SamplerEquation(sgld_least_squares(batch_size, replacement=False))
        assert not np.any(equation.batch_covariance(z))


@pytest.mark.parametrize("replacement", [True, False])
def test_one_iteration_has_the_moments_of_the_equation(replacement):
    """Of a sampler that has no kernel: the user's own loss."""
    data = np.random.default_rng(3).normal(size=(10, 2)) * [1, 3]
    sampler = sgld(DISTANCE, data, 4, 0.1, 0.2, dimension=2, replacement=replacement)
    z = np.array([0.5, -1.0], np.float32)
    change = sampler.run(20_000, 1, start=z, seed=SEED).increment[:, 0].astype(float)
    equation = SamplerEquation(sampler)
    assert within_five_errors(change, 0.1 * np.asarray(equation.drift(z)))
    covariance = 0.1 * 2 * np.asarray(equation.dissipation(z))
    assert within_five_errors(products(change - 0.1 * np.asarray(equation.drift(z))), covariance)


def test_a_gaussian_posterior_has_the_variance_of_the_discrete_chain():
    """z' = z - step n (z - mean) + sqrt(2 step) xi is AR(1): variance 2 step / (1 - (1 - step n)^2)."""
    data, step = np.linspace(-1, 3, 10)[:, None], 0.02
    sampler = sgld(DISTANCE, data, None, step, dimension=1)
    last = sampler.run(20_000, 100, every=100, seed=SEED).last[:, 0].astype(float)
    assert within_five_errors(last, 1.0)
    assert within_five_errors((last - 1) ** 2, 2 * step / (1 - (1 - step * 10) ** 2))


@pytest.mark.parametrize("batch_size", [1, 8, None])
def test_the_published_problem_is_the_raw_one_scaled(batch_size, x64):
    """z = x / 5 - 1 of x' = x - .01 * (batch mean of the gradient) + N(0, .1 * .01)."""
    published = sgld_least_squares(batch_size)
    A, v = sgld_least_squares(batch_size, "paper").data

    def loss(x, datum):
        return (datum[0] @ x - datum[1]) ** 2 / 2

    raw = sgld(jax.grad(loss), (A, v), batch_size, 0.01, 0.1, reduction="mean", dimension=12)
    z = jnp.asarray(np.random.default_rng(4).normal(size=12))
    x = 5 * (z + 1)
    own, other = (jax.vmap(s.force, (None, 0))(y, s.data) for s, y in ((published, z), (raw, x)))
    assert np.allclose(own, other / 5, rtol=1e-10, atol=1e-10)
    own, other = SamplerEquation(published), SamplerEquation(raw)
    assert np.allclose(own.drift(z), other.drift(x) / 5, rtol=1e-10, atol=1e-12)
    assert np.allclose(own.dissipation(z), other.dissipation(x) / 25, rtol=1e-10, atol=1e-12)


def test_the_paper_setting_makes_the_drift_of_the_published_one():
    paper, published = sgld_least_squares(8, "paper"), sgld_least_squares(8)
    assert paper.scale * paper.step == pytest.approx(published.scale * published.step)


def test_the_force_of_ica_is_the_natural_gradient_of_the_log_posterior(fresh_seed, x64):
    """Half of grad log p times U^T U; log p = n log|det U| - 2 sum log cosh(y / 2) - |U|^2 / 2."""
    sampler = sgld_ica(None, "paper")

    def log_posterior(U):
        y = sampler.data @ U.T
        return 100 * jnp.linalg.slogdet(U)[1] - 2 * jnp.log(jnp.cosh(y / 2)).sum() - (U**2).sum() / 2

    U = jnp.asarray(np.random.default_rng(fresh_seed).uniform(-2, 2, (2, 2)))
    expected = jax.grad(log_posterior)(U) @ U.T @ U / 2
    assert np.allclose(sampler.mean_force(U.ravel(), sampler.data), expected.ravel(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("setting", "variance"), [("published", 0.01), ("paper", 1.0)])
def test_the_noise_of_ica_has_the_metric_as_covariance(setting, variance, fresh_seed, x64):
    U = np.random.default_rng(fresh_seed).uniform(-2, 2, (2, 2))
    R = sgld_ica(1, setting).noise(jnp.asarray(U.ravel()))
    assert np.allclose(R @ R.T, np.kron(np.eye(2), variance * U.T @ U), rtol=1e-10, atol=1e-12)


def test_kept_pairs_are_those_of_a_chain_kept_whole():
    sampler = sgld_ica(4)
    whole, some = (sampler.run(5, 12, every=every, seed=SEED) for every in (1, 3))
    assert np.array_equal(whole.start[:, ::3], some.start)
    assert np.array_equal(whole.increment[:, ::3], some.increment)
    assert np.allclose(whole.start[:, :-1] + whole.increment[:, :-1], whole.start[:, 1:], atol=1e-6)
    assert np.allclose(some.last, whole.start[:, -1] + whole.increment[:, -1], atol=1e-6)
    pairs = some.transitions()
    assert np.array_equal(pairs.start[4:8], some.start[1])


def test_a_chain_goes_on_from_the_states_given():
    sampler = sgld_ica(4)
    starts = np.random.default_rng(5).normal(size=(7, 4)).astype(np.float32)
    assert np.array_equal(sampler.run(7, 2, start=starts, seed=SEED).start[:, 0], starts)


WRONG = {
    "at most the number of data, 66; got 67": lambda: sgld_least_squares(67),
    "whole number of at least 1; got 0": lambda: sgld_least_squares(8).with_batch_size(0),
    "a multiple of `every`, 3; got 10": lambda: sgld_least_squares(8).run(1, 10, every=3, seed=0),
    "`start` must be finite numbers of shape .12,.*3,.": lambda: sgld_least_squares(8).run(
        1, 1, start=np.zeros(3), seed=0
    ),
    "`loss_grad` must be a function of a state and a datum; got 3": lambda: sgld(3, np.ones(4), 1, 0.1),
    "`loss_grad` must be .* shape .2,.; got ShapeDtypeStruct": lambda: sgld(
        squared_distance, np.ones((4, 2)), 1, 0.1, dimension=2
    ),
    "`loss_grad` must be .* got TypeError": lambda: sgld(lambda z: z, np.ones((4, 2)), 1, 0.1, dimension=2),
    "`prior_grad` must be .* shape .2,.": lambda: sgld(
        DISTANCE, np.ones((4, 2)), 1, 0.1, dimension=2, prior_grad=jnp.sum
    ),
    r"first axis that counts the data; got lengths \[3, 4\]": lambda: sgld(
        squared_distance, (np.ones(4), np.ones(3)), 1, 0.1, dimension=1
    ),
    r"got lengths \[0, 4\]": lambda: sgld(squared_distance, (np.ones(4), 2.0), 1, 0.1, dimension=1),
    "`data` must be arrays of numbers": lambda: sgld(squared_distance, "words", 1, 0.1, dimension=1),
    "`dimension` must be a whole number": lambda: sgld(squared_distance, np.ones(4), 1, 0.1),
    "`step` must be a positive": lambda: sgld(DISTANCE, np.ones((4, 1)), 1, -0.1, dimension=1),
    "`noise` must be a positive": lambda: sgld(DISTANCE, np.ones((4, 1)), 1, 0.1, 0, dimension=1),
    "Did you mean 'mean'": lambda: sgld(DISTANCE, np.ones((4, 1)), 1, 0.1, dimension=1, reduction="means"),
    "`setting` must be a known name; got 'papr'": lambda: sgld_least_squares(1, "papr"),
    "`matrix` must be finite numbers": lambda: sgld_least_squares(1, matrix=np.ones(3)),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_argument_is_told_in_one_sentence(sentence):
    with pytest.raises(InputError, match=sentence) as told:
        WRONG[sentence]()
    assert "\n" not in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [sgld_least_squares(8), sgld_ica(4)], ids=["least squares", "ica"])
def test_chains_that_diverge_are_told(sampler):
    with pytest.raises(InputError, match=r"`step` must be small enough .* got 5\.0\. 20 of 20 diverged"):
        replace(sampler, step=5.0).run(20, 400, every=400, seed=SEED)
