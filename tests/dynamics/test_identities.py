"""What holds for any V, sigma and W: the split of the drift, and e^-V as stationary density.

With rho = e^-V, div(rho u) = rho (div u - u . grad V) for any field u. The stationary Fokker-Planck
equation 0 = -div(f rho) + sum_ij d_i d_j (M_ij rho) is div(rho u) = 0 with u = f - div M + M grad V, which
must be f_irr. All second derivatives below are automatic, none uses the package's fast divergences.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Full, SumOfSquares, Triangular
from uidd.dynamics import ClosedFormDynamics, divergence, matrix_divergence
from uidd.models import ARCHITECTURES, Architecture
from uidd.thermodynamics import local_entropy_production, system_entropy_production

SMALL = Architecture(SumOfSquares(components=4, widths=(8,)), Triangular((8,)), Full((8,)))
CASES = [(name, dimension) for name in sorted(ARCHITECTURES) for dimension in (2, 3, 5)] + [("default", 7)]
# Sums over networks of width 128 and their second derivatives: some thousand roundings of 1e-16.
ROUNDING = 1e-11


@pytest.fixture(scope="module")
def evaluated(random_dynamics, quickly, session_seed):
    """Everything at five random states, compiled once for all tests of one case."""

    @cache
    def evaluate(name, dimension):
        with jax.enable_x64(True):
            dynamics = random_dynamics(name, dimension, session_seed)

            def u(z):
                return (
                    dynamics.drift(z)
                    - matrix_divergence(dynamics.dissipation, z)
                    + dynamics.dissipation(z) @ dynamics.potential_gradient(z)
                )

            def at(z):
                dV, f_irr = dynamics.potential_gradient(z), dynamics.irreversible_drift(z)
                f, sigma = dynamics.drift_and_diffusion(z)
                return {
                    "dV": dV,
                    "f": f,
                    "sigma": sigma,
                    "sigma alone": dynamics.diffusion(z),
                    "f_rev": dynamics.reversible_drift(z),
                    "f_irr": f_irr,
                    "div f_irr": divergence(dynamics.irreversible_drift, z),
                    "div W": matrix_divergence(dynamics.circulation, z),
                    "div M": matrix_divergence(dynamics.dissipation, z),
                    "W": dynamics.circulation(z),
                    # Third derivatives of the networks, the dearest of all, in two dimensions only.
                    **({"div u": divergence(u, z)} if dimension == 2 else {}),
                    "s_sys": system_entropy_production(dynamics, z),
                }

            z = np.random.default_rng(session_seed).standard_normal((5, dimension))
            return {key: np.asarray(value) for key, value in quickly(jax.vmap(at))(z).items()}

    return evaluate


def dot(a, b):
    return np.einsum("ni,ni->n", a, b)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_the_current_has_no_divergence(name, dimension, evaluated, fresh_seed):
    at = evaluated(name, dimension)
    scale = np.abs(at["div f_irr"]).max() + 1
    np.testing.assert_allclose(at["div f_irr"] - dot(at["f_irr"], at["dV"]), 0, atol=ROUNDING * scale)


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_the_drift_is_reversible_plus_irreversible(name, dimension, evaluated, fresh_seed):
    at = evaluated(name, dimension)
    np.testing.assert_allclose(at["f"], at["f_rev"] + at["f_irr"], rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_the_stationary_fokker_planck_equation_holds(name, dimension, evaluated, fresh_seed):
    at = evaluated(name, dimension)
    M = at["sigma"] @ np.swapaxes(at["sigma"], 1, 2) / 2
    u = at["f"] - at["div M"] + np.einsum("nij,nj->ni", M, at["dV"])
    np.testing.assert_allclose(u, at["f_irr"], rtol=ROUNDING, atol=ROUNDING)
    div_u = at["div u"] if dimension == 2 else at["div f_irr"]
    np.testing.assert_allclose(div_u - dot(u, at["dV"]), 0, atol=ROUNDING * (np.abs(div_u).max() + 1))


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_the_three_forms_of_the_system_entropy_production_agree(name, dimension, evaluated, fresh_seed):
    """Correction 1: s_sys = f_irr . grad V = +(div W) . grad V = +div f_irr, with these signs."""
    at = evaluated(name, dimension)
    scale = np.abs(at["s_sys"]).max() + 1
    for form in (dot(at["f_irr"], at["dV"]), dot(at["div W"], at["dV"]), at["div f_irr"]):
        np.testing.assert_allclose(at["s_sys"], form, atol=ROUNDING * scale)
    # Networks of random weights give a W that varies, so that a wrong sign would show.
    assert np.abs(at["s_sys"]).max() > 1e-6


@pytest.mark.parametrize(("name", "dimension"), CASES)
def test_drift_and_diffusion_together_equal_the_parts_alone(name, dimension, evaluated, fresh_seed):
    at = evaluated(name, dimension)
    M = at["sigma alone"] @ np.swapaxes(at["sigma alone"], 1, 2) / 2
    plain = at["div M"] + at["div W"] - np.einsum("nij,nj->ni", M + at["W"], at["dV"])
    np.testing.assert_allclose(at["f"], plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(at["sigma"], at["sigma alone"], rtol=ROUNDING, atol=ROUNDING)


def test_time_reversal_flips_the_irreversible_drift_only_and_twice_is_nothing(
    x64, fresh_seed, random_dynamics, quickly
):
    dynamics = random_dynamics(SMALL, 3, fresh_seed)
    back = dynamics.time_reversed()

    def at(z):
        def of(d):
            return d.potential(z), d.diffusion(z), d.reversible_drift(z), d.irreversible_drift(z), d.drift(z)

        return of(dynamics), of(back)

    z = np.random.default_rng(fresh_seed).standard_normal((5, 3))
    (V, sigma, f_rev, f_irr, f), (V_back, sigma_back, f_rev_back, f_irr_back, f_back) = quickly(jax.vmap(at))(
        z
    )
    np.testing.assert_array_equal(V, V_back)
    np.testing.assert_array_equal(sigma, sigma_back)
    np.testing.assert_allclose(f_rev, f_rev_back, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(f_irr, -f_irr_back, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(f_back, f - 2 * f_irr, rtol=ROUNDING, atol=ROUNDING)
    again = back.time_reversed()
    assert jax.tree.structure(again) == jax.tree.structure(dynamics)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), again, dynamics))


def test_local_entropy_production_does_not_depend_on_the_coordinates(x64, fresh_seed, quickly):
    """y = B z: V_y(y) = V(B^-1 y), M_y = B M B^T, W_y = B W B^T leave f_irr^T M^-1 f_irr as it is."""
    generator = np.random.default_rng(fresh_seed)
    B = generator.standard_normal((3, 3)) + 3 * np.eye(3)
    A = np.linalg.inv(B)
    bend = generator.standard_normal((3, 3))

    def M(z):
        root = jnp.eye(3) + 0.3 * jnp.tanh(bend @ z)[:, None] * bend
        return root @ root.T + 0.1 * jnp.eye(3)

    def W(z):
        H = jnp.sin(z[:, None] - z[None]) * (1 + jnp.sum(z) ** 2)
        return H - H.T

    def V(z):
        return jnp.sum(z**4) / 4 + jnp.prod(z)

    here = ClosedFormDynamics(V, lambda z: jnp.linalg.cholesky(2 * M(z)), W)
    there = ClosedFormDynamics(
        lambda y: V(A @ y),
        lambda y: jnp.linalg.cholesky(2 * B @ M(A @ y) @ B.T),
        lambda y: B @ W(A @ y) @ B.T,
    )
    z = generator.standard_normal((5, 3))
    s = quickly(jax.vmap(lambda z: local_entropy_production(here, z)))(z)
    s_there = quickly(jax.vmap(lambda z: local_entropy_production(there, z)))(z @ B.T)
    np.testing.assert_allclose(s, s_there, rtol=1e-9)
