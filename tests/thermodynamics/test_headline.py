"""The bias of the rate and its error, against what they are for a rate that is known in closed form."""

from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pytest

from uidd import Result
from uidd.data import Scaling
from uidd.models import Architecture, Coefficients, Ensemble, Model
from uidd.thermodynamics import Estimate, compared, entropy_production
from uidd.thermodynamics.headline import error_of_mean
from uidd.training.ensemble import _constants, _orthogonal
from uidd.training.solvers.local_posterior import Factored

W = 0.3


@pytest.fixture(scope="module")
def model():
    """V = |z|^2 / 2, M constant and W = w J: the rate is w^2 <z^T J^T M^-1 J z> = w^2 Tr M^-1."""
    spec = Architecture().plain
    unit = spec.build(2, key=jax.random.key(0))
    own = Coefficients.of(unit)
    (place,) = np.flatnonzero(own.component == 2)
    vector = own.vector
    vector[place] = W
    return Model(own.dynamics(vector), spec, Scaling.identity(2)), place


def rate_of(model):
    """w^2 Tr M^-1, the noise as it was built."""
    sigma = np.asarray(model.diffusion(np.zeros(2, np.float32)))
    M = sigma @ sigma.T / 2
    return float(np.trace(np.linalg.inv(M)) * W**2)


def with_deviations(model, place, sizes, *, as_constants):
    rows = np.zeros((len(sizes), len(Coefficients.of(model.unit).vector)))
    rows[:, place] = sizes
    return Ensemble(model, rows, rows if as_constants else 0 * rows, rows, np.zeros((0, 2)))


SIZES = np.array([0.02, -0.05, 0.11, 0.07])


@pytest.mark.parametrize("as_constants", [True, False])
def test_the_noise_of_constants_is_taken_out_and_that_of_readouts_put_back(model, as_constants):
    """S = c w^2 is quadratic: <S> - S = c <d^2> along deviations d of w, and its odd part is 2 c w d.

    The draws are exact, so the tolerance of the plain rate is five of its standard errors.
    """
    model, place = model
    states = np.random.default_rng(0).standard_normal((16, 4096, 2)).astype(np.float32)
    plain = entropy_production(Ensemble.none(model), samples=samples(states))
    assert plain.result == "no_ensemble"
    np.testing.assert_allclose(plain.rate, rate_of(model), atol=5 * plain.standard_error)
    c = plain.rate / W**2
    estimate = entropy_production(
        with_deviations(model, place, SIZES, as_constants=as_constants), samples=samples(states)
    )
    sign = -1 if as_constants else 1
    # Members are compared on 4096 of the draws, on which |z|^2 has a mean within 1.6 % (one standard error).
    np.testing.assert_allclose(estimate.rate - plain.rate, sign * c * np.mean(SIZES**2), rtol=0.05)
    spread = np.mean((2 * c * W * SIZES) ** 2) + np.var(c * SIZES**2) + plain.standard_error**2
    spread += 0 if as_constants else np.mean(c * SIZES**2) ** 2  # what was put back is as uncertain
    np.testing.assert_allclose(estimate.standard_error, spread**0.5, rtol=0.05)


def samples(states):
    from uidd import sample_stationary
    from uidd.systems import Linear

    some = sample_stationary(Linear(0.0).dynamics, 64, seed=0, starts=np.zeros((4, 2)))
    return replace(some, chains=states)


def test_a_constant_beside_its_network_counts_only_as_far_as_the_network_does_not_know_it():
    """Covariances of draws against the Schur complement, for coefficients of three components.

    A constant and a readout of sigma are nearly the same direction, as a constant and a network's mean are.
    """
    generator = np.random.default_rng(1)
    root = generator.standard_normal((12, 40))
    root[7] = root[8] + 1e-3 * root[7]  # sigma's constant and readout, nearly degenerate
    F = root @ root.T
    component = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2])
    penalised = np.array([0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1], bool)

    weights = SimpleNamespace(component=component, penalised=penalised)
    L = np.where(penalised, 0.5, 0.0)
    C = np.linalg.inv(F + np.diag(L))
    draws = generator.multivariate_normal(np.zeros(12), C, size=40_000)
    kept = _constants(draws, weights, Factored.of(F + np.diag(L)))
    assert (kept[:, penalised] == 0).all()
    for k in range(3):
        a, b = (component == k) & ~penalised, (component == k) & penalised
        wanted = C[np.ix_(a, a)] - C[np.ix_(a, b)] @ np.linalg.solve(C[np.ix_(b, b)], C[np.ix_(b, a)])
        found = np.cov(kept[:, a].T).reshape(wanted.shape)
        size = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        np.testing.assert_allclose(found / size, wanted / size, atol=5 * (2 / 40_000) ** 0.5)


@pytest.mark.parametrize(("rows", "size"), [(64, 200), (64, 10), (5, 5)])
def test_weights_of_the_bootstrap_are_normal_and_orthogonal_as_far_as_there_is_room(rows, size):
    """Numbers of unit variance whatever the shape; within `size` rows no two overlap."""
    many = np.stack([_orthogonal(np.random.default_rng(seed), rows, size) for seed in range(200)])
    np.testing.assert_allclose(many.mean(), 0, atol=5 / many.size**0.5)
    np.testing.assert_allclose((many**2).mean(), 1, atol=5 * (2 / many.size) ** 0.5)
    gram = many[0, :size] @ many[0, :size].T
    np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-9 * size)


@pytest.mark.parametrize(
    ("beside", "code"), [(11.0, "ok"), (12.9, "ok"), (13.1, "extrapolated"), (6.9, "extrapolated")]
)
def test_two_means_that_differ_beyond_their_errors_are_not_ok(beside, code):
    """3 sqrt(.6^2 + .8^2) = 3 apart is the limit, on both sides."""
    found = compared(Estimate(10.0, 0.6), Estimate(beside, 0.8))
    assert found.result == code and found.rate == 10.0
    assert code == "ok" or "recorded states" in found.result.message


def test_a_mean_over_draws_that_failed_says_nothing_of_the_one_over_recorded_states():
    assert compared(Estimate(10.0, 0.6), Estimate(1e9, 0.8, Result("not_mixed", "."))).result.successful


def test_the_error_of_a_mean_over_time_is_that_of_a_path_that_forgets():
    """s = x^2 of dx = -x dt + sqrt(2) dB, whose tau is 1/2 exactly: means over 400 exact paths of T = 50."""
    generator, dt, steps, paths = np.random.default_rng(0), 0.05, 1000, 400
    decay = np.exp(-dt)
    x, total = generator.standard_normal(paths), np.zeros(paths)
    for _ in range(steps):
        x = decay * x + (1 - decay**2) ** 0.5 * generator.standard_normal(paths)
        total += x**2
    spread = (total / steps).std(ddof=1)
    states = generator.standard_normal(100_000)
    stated = error_of_mean(states**2, (2 * states) ** 2, steps * dt)
    # The spread is known to 1 / sqrt(2 n); what the start adds is of the order of tau / T.
    assert abs(stated / spread - 1) < 4 / (2 * paths) ** 0.5 + 0.02
    assert error_of_mean(np.ones(10), np.zeros(10), 1.0) == 0.0
    assert error_of_mean(states**2, (2 * states) ** 2, float("inf")) == 0.0


def test_a_noise_that_is_off_by_a_part_of_itself_makes_the_rate_off_by_as_much(model):
    """s = f . M^-1 f: with M (1 + d) in place of M and the same f it is s / (1 + d)."""
    model, place = model
    states = np.random.default_rng(1).standard_normal((16, 1024, 2)).astype(np.float32)
    known = with_deviations(model, place, SIZES, as_constants=True)
    plain = entropy_production(known, samples=samples(states))
    wider = entropy_production(replace(known, noise_error=0.2), samples=samples(states))
    assert wider.rate == plain.rate
    assert wider.standard_error**2 == pytest.approx(plain.standard_error**2 + (0.2 * plain.rate) ** 2)
    d = 0.01
    sigma = model.diffusion(np.zeros(2, np.float32)) * (1 + d) ** 0.5
    louder = eqx.tree_at(
        lambda m: m.unit.diffusion_component, model, model.unit.diffusion_component.starting_at(sigma)
    )
    quiet, loud = (
        entropy_production(Ensemble.none(m), samples=samples(states)).rate for m in (model, louder)
    )
    assert loud / quiet == pytest.approx(1 / (1 + d), rel=1e-4)
