"""Products of independent models: no bias from their noise, and error bars as good as a jackknife of few."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from stand_ins import linear_model
from uidd._checks import InputError
from uidd.components import Full, SumOfSquares, Triangular
from uidd.data import Scaling, Transitions
from uidd.dynamics import ClosedFormDynamics
from uidd.models import Architecture, Model
from uidd.systems import Linear
from uidd.systems.linear_diffusion import circulation_and_stiffness
from uidd.thermodynamics import (
    cross_fitted,
    cross_fitted_entropy_production,
    cross_fitted_fisher_information,
    cross_fitted_work,
    score_gap,
)

SCALING = Scaling((0.5, -1.0), (2.0, 0.3), 4.0)
SMALL = Architecture(SumOfSquares(4, (8,)), Triangular((8,)), Full((8,)))


def repetitions(models, size, noise, count=200, seed=0):
    """Of the field a = size z at unit Gaussian states, known to a random matrix B of entries `noise`.

    E |a|^2 = 2 size^2, and E |B z|^2 = 4 noise^2 is what a square adds.
    """
    generator, found = np.random.default_rng(seed), []
    for _ in range(count):
        z = generator.standard_normal((200, 2))
        B = size * np.eye(2) + noise * generator.standard_normal((models, 2, 2))
        found.append(cross_fitted(np.einsum("kij,nj->kni", B, z)))
    rates, errors = np.array([(each.corrected.rate, each.corrected.standard_error) for each in found]).T
    return rates - 2 * size**2, errors, np.array([each.plug_in for each in found]) - 2 * size**2


@pytest.mark.parametrize("models", [4, 8])
@pytest.mark.parametrize(("size", "noise"), [(1.0, 0.05), (1.0, 0.3), (0.3, 0.3), (0.0, 0.3)])
def test_the_corrected_mean_square_is_unbiased_and_the_plug_in_is_not(models, size, noise):
    wrong, _, plug_in = repetitions(models, size, noise)
    assert abs(wrong.mean()) < 5 * wrong.std() / len(wrong) ** 0.5
    assert abs(plug_in.mean() - 4 * noise**2) < 5 * plug_in.std() / len(plug_in) ** 0.5


# True deviation over the root mean square of the errors in 1000 repetitions, and that of the z-scores. Few
# models know their spread badly; where there is no field the product is degenerate, and the error too large.
CALIBRATION = {
    (4, 1.0, 0.05): (0.95, 0.99),
    (8, 1.0, 0.05): (0.96, 0.98),
    (4, 1.0, 0.3): (0.97, 1.30),
    (8, 1.0, 0.3): (0.97, 1.10),
    (4, 0.3, 0.3): (0.82, 1.33),
    (8, 0.3, 0.3): (0.90, 1.14),
    (4, 0.0, 0.3): (0.55, 0.86),
    (8, 0.0, 0.3): (0.67, 0.77),
}


@pytest.mark.parametrize("case", CALIBRATION, ids=str)
def test_the_error_is_calibrated(case):
    """200 repetitions know a deviation to 5 %, with heavy tails to some 10 %; the bound is 25 % of it."""
    wrong, errors, _ = repetitions(*case)
    ratio, spread = CALIBRATION[case]
    assert 0.75 < wrong.std() / np.sqrt(np.mean(errors**2)) / ratio < 1.25
    assert 0.75 < (wrong / errors).std() / spread < 1.25


def test_products_are_means_over_the_states_and_the_bias_is_what_the_diagonal_adds(fresh_seed):
    fields = np.random.default_rng(fresh_seed).standard_normal((3, 50, 2))
    found = cross_fitted(fields)
    expected = np.einsum("kni,lni->kl", fields, fields) / 50
    np.testing.assert_allclose(found.products, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.plug_in, np.trace(expected) / 3, rtol=1e-12)
    off = expected[~np.eye(3, dtype=bool)].mean()
    np.testing.assert_allclose(found.corrected.rate, off, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.bias, np.trace(expected) / 3 - off, rtol=1e-10, atol=1e-12)


def test_models_that_agree_leave_the_error_of_the_states(fresh_seed):
    field = np.random.default_rng(fresh_seed).standard_normal((50, 2))
    found = cross_fitted(np.stack([field] * 4))
    squares = np.sum(field**2, axis=1)
    np.testing.assert_allclose(found.corrected.rate, squares.mean(), rtol=1e-12)
    np.testing.assert_allclose(found.corrected.standard_error, squares.std(ddof=1) / 50**0.5, rtol=1e-6)
    assert abs(found.bias) < 1e-12


def test_one_model_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="`fields` must be those of at least two models; got 1"):
        cross_fitted(np.zeros((1, 3, 2)))


def test_two_models_have_an_estimate_but_no_error():
    """A jackknife of two has one product in it; nothing tells how much that would vary."""
    estimate = cross_fitted(np.ones((2, 5, 2))).corrected
    assert estimate.rate == 2 and np.isnan(estimate.standard_error)
    assert estimate.result.code == "no_error"


def corners(covariance):
    """Four states with mean zero and exactly this covariance."""
    root = 2**0.5 * np.linalg.cholesky(covariance)
    return np.concatenate([root.T, -root.T])


@pytest.mark.parametrize("strength", [1.0, 0.0])
def test_the_rate_of_linear_models_is_their_closed_form_in_any_units(strength, x64):
    system = Linear(strength)
    model = linear_model(system.dissipation_matrix, system.circulation_matrix, system.stiffness, SCALING)
    found = cross_fitted_entropy_production([model] * 3, corners(system.covariance))
    np.testing.assert_allclose(found.corrected.rate, system.entropy_production_rate, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.plug_in, system.entropy_production_rate, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lacking", [0.0, 0.3, 1.0])
def test_with_the_drift_at_hand_errors_of_w_count_squared_and_those_of_v_do_not(lacking, x64, fresh_seed):
    """w = (1 - e) f_irr and f = f_irr + M D z with any symmetric D: 2 (1 - e) S - (1 - e)^2 S = (1 - e^2) S.

    E w^T M^-1 M D z = -(1 - e) Tr D W = 0. The square of f alone would have Tr D M D cov z more.
    """
    system, states = Linear(), corners(Linear().covariance)
    M, W, K = system.dissipation_matrix, system.circulation_matrix, system.stiffness
    model = linear_model(M, (1 - lacking) * W, K, SCALING)
    D = np.random.default_rng(fresh_seed).standard_normal((3, 2, 2))
    currents = np.stack([states @ (M @ (d + d.T) - W @ K).T for d in D])
    found = cross_fitted_entropy_production([model] * 3, states, currents=currents)
    expected = (1 - lacking**2) * system.entropy_production_rate
    np.testing.assert_allclose(found.corrected.rate, expected, rtol=1e-9, atol=1e-9)


def test_every_field_meets_the_partners_of_the_other_models(fresh_seed):
    a, b = np.random.default_rng(fresh_seed).standard_normal((2, 4, 50, 2))
    found = cross_fitted(a, b)
    products = np.einsum("kni,lni->kl", a, b) / 50
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found.corrected.rate, products[off].mean(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.plug_in, np.trace(products) / 4, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.products, found.products.T, rtol=0, atol=0)
    alone = cross_fitted(a, a)
    assert alone.corrected == cross_fitted(a).corrected


def test_the_fisher_information_of_a_gaussian_is_its_closed_form(x64):
    """f = -H z, M_0 = T, M = T + C: L = z^T H z / (2 T), and V = z^T S z / 2 with H S^-1 + S^-1 H = 2 M.

    I = E |(H / T - S) z|^2 = Tr[(H / T - S) S^-1 (H / T - S)].
    """
    H, C, T = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([[0.3, 0.1], [0.1, 0.2]]), 0.5
    M = T * np.eye(2) + C
    W, S = circulation_and_stiffness(-H, M)
    covariance = scipy.linalg.solve_continuous_lyapunov(H, 2 * M)
    np.testing.assert_allclose(covariance, np.linalg.inv(S), rtol=1e-10)
    models = [linear_model(M, W, S, SCALING)] * 2
    found = cross_fitted_fisher_information(models, corners(covariance), 2 * T)
    gap = H / T - S
    np.testing.assert_allclose(found.corrected.rate, np.trace(gap @ covariance @ gap), rtol=1e-8)
    assert found.corrected.rate > 0.1  # a control


def injected(z):
    """A root of an injected noise that varies."""
    x, y = z
    return jnp.stack([2 + jnp.sin(y), jnp.zeros_like(x), x / (1 + x**2), 1.5 + jnp.cos(x) / 2]).reshape(2, 2)


@pytest.mark.parametrize("noise", [0.7, injected], ids=["constant", "varying"])
def test_both_forms_of_the_display_agree(noise, x64, fresh_seed, random_dynamics):
    """(eta/2)(Sigma grad V - div Sigma) - f_irr = div M_0 - f - M_0 grad V, for any V, M and W."""
    model = Model(random_dynamics(SMALL, 2, fresh_seed), SMALL, SCALING)
    states = np.random.default_rng(fresh_seed).standard_normal((6, 2))

    def M_0(z):
        R = noise(z) if callable(noise) else noise**0.5 * jnp.eye(2)
        return R @ R.T / 2

    def sigma_divergence(z):  # eta Sigma / 2 = M - M_0, and its divergence
        return jnp.einsum("ijj->i", jax.jacfwd(lambda z: model.dissipation(z) - M_0(z))(z))

    def both(z):
        dV, M = model.potential_gradient(z), model.dissipation(z)
        first = (M - M_0(z)) @ dV - sigma_divergence(z) - model.irreversible_drift(z)
        return first, M_0(z), model.drift(z), dV

    first, matrices, f, dV = (np.asarray(each) for each in jax.jit(jax.vmap(both))(jnp.asarray(states)))
    second = np.einsum("nij,nj->ni", matrices, score_gap(states, f, dV, noise))
    np.testing.assert_allclose(second, first, rtol=1e-8, atol=1e-8 * np.abs(first).max())
    found = cross_fitted_fisher_information([model] * 2, states, noise)
    expected = np.mean(np.sum(np.linalg.solve(matrices, first[..., None]) ** 2, axis=(1, 2)))
    np.testing.assert_allclose(found.corrected.rate, expected, rtol=1e-8)


@pytest.mark.parametrize("noise", [0.7, injected], ids=["constant", "varying"])
def test_the_full_batch_has_no_gap(noise, x64, fresh_seed):
    """f = -M_0 grad V + div M_0: V is then L."""
    root = noise if callable(noise) else lambda z: noise**0.5 * jnp.eye(2)
    dynamics = ClosedFormDynamics(lambda z: jnp.sum(z**4) + z[0] * z[1], root, lambda z: jnp.zeros((2, 2)))
    states = np.random.default_rng(fresh_seed).standard_normal((6, 2))
    at = jax.jit(jax.vmap(lambda z: (dynamics.drift(z), dynamics.potential_gradient(z))))
    gaps = score_gap(states, *(np.asarray(each) for each in at(states)), noise)
    np.testing.assert_allclose(gaps, 0, atol=1e-10)


def closed_paths(generator, parts, steps):
    """Pairs along paths that end where they began."""
    found = []
    for _ in range(parts):
        z = np.concatenate([np.zeros((1, 2)), generator.standard_normal((steps - 1, 2)), np.zeros((1, 2))])
        found.append(Transitions(z[:-1], np.diff(z, axis=0), np.full(steps, 0.1)))
    return found


def test_a_quadratic_potential_does_no_work_along_closed_paths(fresh_seed):
    """d(z') - d(z) = grad d(z + dz / 2) . dz, exactly; nor do several potentials."""
    generator = np.random.default_rng(fresh_seed)
    A = generator.standard_normal((5, 2, 2))
    found = cross_fitted_work(
        lambda z: np.einsum("kij,nj->kni", A + A.transpose(0, 2, 1), z), closed_paths(generator, 5, 40)
    )
    np.testing.assert_allclose(found.products, 0.0, atol=1e-10)


def test_a_rotation_does_the_work_of_the_enclosed_area(fresh_seed):
    """F = c (-y, x) does 2 c times the area inside a closed path, here a square of side 2 in four steps."""
    corners_ = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 1.0]])
    part = Transitions(corners_[:-1], np.diff(corners_, axis=0), np.full(4, 0.5))
    c = np.random.default_rng(fresh_seed).standard_normal(3)
    found = cross_fitted_work(lambda z: c[:, None, None] * np.stack([-z[:, 1], z[:, 0]], axis=1), [part] * 3)
    np.testing.assert_allclose(found.corrected.rate, 2 * c.mean() * 4 / 2.0, rtol=1e-12)


def test_work_that_all_parts_do_by_chance_alone_is_as_likely_as_its_negative():
    """Eight parts of the same wrong force and of paths without a current: one in 100 below 1 %."""
    generator = np.random.default_rng(0)
    chances = []
    for _ in range(200):
        parts = [
            Transitions(np.zeros((20, 1)), generator.standard_normal((20, 1)), np.full(20, 0.1))
            for _ in range(8)
        ]
        chances.append(cross_fitted_work(lambda z: np.ones((8, len(z), 1)), parts).chance)
    # Binomial: 2 +- 1.4 of 200 below 1 %, 40 +- 5.7 below 20 %.
    assert np.sum(np.array(chances) < 0.01) <= 9
    assert 11 < np.sum(np.array(chances) < 0.2) < 69
