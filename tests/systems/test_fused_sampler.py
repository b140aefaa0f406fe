"""The compiled loop for least squares against plain iterations, and its random numbers against their laws."""

import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
import scipy.stats

from uidd.systems import SamplerEquation, sgld, sgld_ica, sgld_least_squares
from uidd.systems.samplers import sampler as sampler_module
from uidd.systems.samplers.forces import residual_gradient
from uidd.systems.samplers.generator import generator, words, ziggurat
from uidd.systems.samplers.sampler import kernel_of

SEED = 0
PLACES = [(1, True), (8, True), (8, False), (40, True), (40, False), (64, False), (None, True)]


@pytest.fixture
def plainly(monkeypatch):
    """Run a sampler without the kernel."""

    def run(sampler, *args, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr(sampler_module, "kernel_of", lambda _: None)
            return sampler.run(*args, **kwargs)

    return run


def within_five_errors(samples, expected=0.0):
    """Whether the mean of samples is as expected, to five standard errors of theirs."""
    error = samples.std(axis=0) / len(samples) ** 0.5
    return (np.abs(samples.mean(axis=0) - expected) <= 5 * error).all()


def products(x):
    return np.einsum("ni,nj->nij", x, x)


def test_it_serves_least_squares_in_single_precision_only():
    sampler = sgld_least_squares(8)
    assert kernel_of(sampler) is not None
    assert kernel_of(sgld_least_squares(None, "paper")) is not None
    assert kernel_of(sgld_ica(8)) is None
    assert kernel_of(replace(sampler, common=lambda z: -z)) is None
    assert kernel_of(replace(sampler, noise=lambda z: jnp.eye(12))) is None
    assert kernel_of(sgld(lambda z, x: z - x[0], sampler.data, 8, 0.01, dimension=12)) is None
    with jax.enable_x64(True):
        assert kernel_of(sgld_least_squares(8)) is None


def test_importing_systems_does_not_import_numba():
    program = "import sys, uidd.systems; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(("batch_size", "replacement"), PLACES)
def test_one_iteration_has_the_moments_of_the_equation(batch_size, replacement):
    """With hardly any noise besides that of the batch. The equation takes finite sums over the data."""
    sampler = replace(sgld_least_squares(batch_size, replacement=replacement), noise=1e-6)
    z = np.linspace(-1, 1, 12, dtype=np.float32)
    change = sampler.run(50_000, 1, start=z, seed=SEED).increment[:, 0].astype(float)
    with jax.enable_x64(True):
        exact = replace(
            sgld_least_squares(batch_size, replacement=replacement),
            noise=1e-6,
            data=jax.tree.map(lambda part: jnp.asarray(part, float), sampler.data),
        )
        equation = SamplerEquation(exact)
        drift, M = (np.asarray(f(jnp.asarray(z, float))) for f in (equation.drift, equation.dissipation))
    assert within_five_errors(change, 0.01 * drift)
    assert within_five_errors(products(change - 0.01 * drift), 0.01 * 2 * M)


@pytest.mark.parametrize(
    ("batch_size", "replacement"),
    [(1, True), (8, True), pytest.param(8, False, marks=pytest.mark.slow), (None, True)],
)
@pytest.mark.parametrize("setting", ["published", "paper"])
def test_states_have_the_law_of_plain_iterations(batch_size, replacement, setting, plainly):
    """From the same starts, so that differences are taken chain by chain."""
    sampler = sgld_least_squares(batch_size, setting, replacement=replacement)
    ours = sampler.run(2000, 200, every=200, seed=SEED)
    plain = plainly(sampler, 2000, 200, every=200, seed=SEED)
    assert np.array_equal(ours.start, plain.start)
    a, b = (run.last.astype(float) for run in (ours, plain))
    assert not np.allclose(a, b)
    assert within_five_errors(a - b)
    assert within_five_errors(products(a - a.mean(axis=0)) - products(b - b.mean(axis=0)))


@pytest.mark.parametrize("setting", ["published", "paper"])
@pytest.mark.parametrize(("batch_size", "replacement"), [(None, True), (66, False)])
def test_without_noise_it_is_gradient_descent(setting, batch_size, replacement, plainly):
    """z' = z - q (H z - c), in double precision by NumPy; the numbers of the two have 24 bits."""
    sampler = replace(sgld_least_squares(batch_size, setting, replacement=replacement), noise=1e-30)
    ours = sampler.run(20, 60, every=20, seed=SEED)
    plain = plainly(sampler, 20, 60, every=20, seed=SEED)
    A, v = (np.asarray(part, float) for part in sampler.data)
    z, kept = ours.start[:, 0].astype(float), []
    for _ in range(60):
        kept.append(z)
        z = z - sampler.step * sampler.scale * (z @ A.T - v) @ A / len(A)
    for run in (ours, plain):
        rounding = 1e-5 * np.abs(z).max()
        assert np.allclose(run.start, np.stack(kept[::20], axis=1), rtol=0, atol=rounding)
        assert np.allclose(run.last, z, rtol=0, atol=rounding)


@pytest.mark.parametrize("shape", [(5, 1), (1, 1), (7, 3), (9, 6), (5000, 2)])
@pytest.mark.parametrize("replacement", [True, False])
def test_other_sizes_have_the_moments_of_the_equation(shape, replacement):
    """Dimensions that are no multiple of four; one datum; data too many for short random numbers."""
    A = np.random.default_rng(6).normal(size=shape)
    v = np.arange(shape[0]) % 5 - 1.0
    batch_size = min(shape[0], 4)
    sampler = sgld(
        residual_gradient, (A, v), batch_size, 0.01, 0.1, dimension=shape[1], replacement=replacement
    )
    assert kernel_of(sampler) is not None
    z = np.full(shape[1], 0.5, np.float32)
    change = sampler.run(30_000, 1, start=z, seed=SEED).increment[:, 0].astype(float)
    equation = SamplerEquation(sampler)
    mean = 0.01 * np.asarray(equation.drift(z), float)
    assert within_five_errors(change, mean)
    assert within_five_errors(products(change - mean), 0.02 * np.asarray(equation.dissipation(z), float))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [True, False])
def test_a_chain_depends_on_the_seed_and_its_number_alone(kernel, plainly, monkeypatch):
    """The kernel's to the last bit; XLA rounds otherwise in chunks of another size."""
    sampler, told = sgld_least_squares(8), []

    def run(chains):
        how = {"every": 10, "seed": SEED, "report": told.append}
        return sampler.run(chains, 20, **how) if kernel else plainly(sampler, chains, 20, **how)

    def same(a, b):
        return np.array_equal(a, b) if kernel else np.allclose(a, b, rtol=0, atol=1e-5)

    many = run(150)
    assert same(run(100).increment, many.increment[:100])
    monkeypatch.setattr("uidd.systems.samplers.sampler.CHUNK", 64)
    again = run(150)
    assert same(again.start, many.start)
    assert same(again.last, many.last)
    assert told == [150, 100, 64, 128, 150]


@pytest.mark.parametrize("kernel", [True, False])
def test_no_pair_is_shared_between_seeds_or_chains(kernel, plainly):
    """Train and test data of different seeds are disjoint."""
    sampler, seen = sgld_least_squares(1), []
    for seed in (0, 1):
        how = {"every": 10, "seed": seed}
        run = sampler.run(400, 50, **how) if kernel else plainly(sampler, 400, 50, **how)
        for part in (run.start, run.increment):
            seen.append({row.tobytes() for row in part.reshape(-1, 12)})
            assert len(seen[-1]) == 2000
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[3]


def test_batches_change_from_iteration_to_iteration_and_chain_to_chain():
    """Steps of neighbouring chains, and of neighbouring iterations of one, are uncorrelated at one state."""
    sampler = replace(sgld_least_squares(1), step=1e-6, noise=1e-12)  # the state stays, to 1e-4
    z = np.zeros(12, np.float32)
    change = sampler.run(20_000, 2, start=z, seed=SEED).increment.astype(float) * 1e6
    change -= change.mean(axis=0)
    assert within_five_errors(change[1::2, 0] * change[::2, 0])
    assert within_five_errors(change[:, 0] * change[:, 1])


def test_the_ziggurat_has_its_published_tail():
    """Marsaglia & Tsang 2000: with 256 layers r = 3.6541528853610088, each of area 0.00492867323399."""
    x = ziggurat()
    assert x[1] == pytest.approx(3.6541528853610088, abs=1e-12)
    height = np.exp(-(x**2) / 2)
    assert np.allclose(x[1:-1] * np.diff(height[1:]), 0.00492867323399, atol=1e-13)
    assert x[0] * height[1] == pytest.approx(0.00492867323399, abs=1e-13)


def drawn(draw, count, seed):
    """Numbers from one chain's generator."""
    begin = generator().begin

    @numba.njit
    def fill(seeds, out):
        state = begin(seeds)
        for k in range(len(out)):
            out[k], state = draw(state)

    out = np.empty(count)
    fill(words(seed, 0, 1)[0], out)
    return out


def test_normal_numbers_have_the_moments_quantiles_and_tail_of_the_normal_law():
    z = drawn(generator().normal, 4_000_000, SEED)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert within_five_errors(z**power, moment), power
    assert within_five_errors(z[1:] * z[:-1])
    for limit in (*np.linspace(-3.6, 3.6, 37), 3.7, 4.2, -3.7, -4.2):  # the tail begins at 3.65
        assert within_five_errors((z > limit).astype(float), scipy.stats.norm.sf(limit)), limit


@pytest.mark.parametrize("n", [1, 3, 66, 4096, 5000])
def test_indices_are_uniform(n):
    """Below 4097 sixteen random bits make one, above it 32."""
    below = generator().below

    @numba.njit
    def draw(state):
        return below(n, state)

    k = drawn(draw, 1_000_000, SEED)
    assert k.min() == 0 and k.max() == n - 1
    groups = np.bincount((k * min(n, 50) // n).astype(int))
    shares = np.bincount(np.arange(n) * min(n, 50) // n) / n
    assert (np.abs(groups - len(k) * shares) <= 5 * np.sqrt(len(k) * shares * (1 - shares))).all()
    assert within_five_errors((k[1:] - k.mean()) * (k[:-1] - k.mean()))
