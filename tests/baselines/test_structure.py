"""What holds for the compared models whatever their weights, in unit-size coordinates and in the user's.

Gradients of V, E and S are automatic, products and inverses NumPy's.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.baselines import (
    GFINN,
    BaselineModel,
    Onsager,
    OnsagerNet,
    StochasticBaselineModel,
    StochasticOnsagerNet,
    regauged,
)
from uidd.baselines.gfinn import GenericDrift
from uidd.baselines.onsager_net import OnsagerDrift
from uidd.data import Scaling
from uidd.dynamics import AbstractEquation, ComponentDynamics, matrix_divergence

MODELS = {
    "Onsager": Onsager(),
    "OnsagerNet": OnsagerNet(),
    "S-OnsagerNet": StochasticOnsagerNet(),
    "GFINN": GFINN(),
}
DIMENSIONS = (2, 3, 5)
UNITS = ("inside", "user's")
# Sums over networks of width 128: some thousand roundings of 1e-16, times the size of what is summed.
ROUNDING = 1e-11
EPS = np.finfo(np.float64).eps


def phi(V):
    """phi' lies between 3 and 4, so that nothing stays as it was."""
    return 3 * V + jnp.tanh(V)


def scaling(dimension, seed):
    generator = np.random.default_rng(seed)
    center, scale = generator.normal(0, 3, dimension), 10 ** generator.uniform(-1, 1, dimension)
    return Scaling(tuple(map(float, center)), tuple(map(float, scale)), float(generator.uniform(0.1, 10)))


@pytest.fixture(scope="module")
def built(with_random_weights, session_seed):
    """A model with random weights, inside or in the user's units."""

    def build(name, dimension, units="inside"):
        unit = with_random_weights(lambda key: MODELS[name].build(dimension, key=key), session_seed)
        if units == "inside":
            return unit
        kind = StochasticBaselineModel if name == "S-OnsagerNet" else BaselineModel
        return kind(unit, scaling(dimension, session_seed))

    return build


@pytest.fixture(scope="module")
def states(session_seed):
    """Five states, where the networks are not flat."""

    def draw(dimension, units="inside"):
        x = np.random.default_rng(session_seed).standard_normal((5, dimension))
        return x if units == "inside" else scaling(dimension, session_seed).to_user(x)

    return draw


@pytest.fixture(scope="module")
def evaluated(built, states, quickly):
    """Everything at five states, compiled once for all tests of one case."""

    def at(model):
        def of(z):
            return {
                "V": model.potential(z),
                "dV": model.potential_gradient(z),
                "dV by itself": jax.grad(model.potential)(z),
                "M": model.dissipation(z),
                "W": model.circulation(z),
                "f": model.drift(z),
                "f_irr": model.irreversible_drift(z),
                "s": model.local_entropy_production(z),
                "size of W": size_of_circulation(model, z),
                **({"sigma": model.diffusion(z)} if isinstance(model, AbstractEquation) else {}),
            }

        return of

    @cache
    def evaluate(name, dimension, units, changed=False):
        with jax.enable_x64(True):
            model = built(name, dimension, units)
            model = regauged(model, phi) if changed else model
            found = quickly(jax.vmap(at(model)))(states(dimension, units))
            return {key: np.asarray(value) for key, value in found.items()}

    return evaluate


def size_of_circulation(model, z):
    """How large the terms are that W is the sum of: a GFINN's cancel altogether in two dimensions."""
    if isinstance(model, BaselineModel):
        x, A = model.scaling.to_unit(z), np.asarray(model.scaling.scale)
        return size_of_circulation(model.unit, x) * A[:, None] * A / model.scaling.time
    if not isinstance(model, GenericDrift):
        return jnp.abs(model.circulation(z))
    rows = model.reversible_rows - jnp.swapaxes(model.reversible_rows, 1, 2)
    Q = jnp.abs(rows) @ jnp.abs(jax.grad(model.entropy)(z))
    return Q.T @ jnp.abs(model.reversible_component(z)) @ Q


def times(A, b):
    return np.einsum("nij,nj->ni", A, b)


def dot(a, b):
    return np.einsum("ni,ni->n", a, b)


def assert_zero(values, *sizes):
    """Zero up to the rounding of terms whose sizes multiply."""
    scale = np.prod([np.abs(size).max() for size in sizes])
    np.testing.assert_allclose(values, 0, atol=ROUNDING * scale)


everywhere = pytest.mark.parametrize("units", UNITS)
every_dimension = pytest.mark.parametrize("dimension", DIMENSIONS)
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
@every_dimension
@everywhere
def test_the_drift_is_that_of_the_generalised_onsager_principle(
    name, dimension, units, evaluated, fresh_seed
):
    """f = -(M + W) grad V with M >= 0, W = -W^T; for GFINN with V = -(E + S) and W = L."""
    at = evaluated(name, dimension, units)
    M, W, dV = at["M"], at["W"], at["dV"]
    assert_zero(at["f"] + times(M + W, dV), M.max() + at["size of W"].max(), dV)
    assert_zero(M - np.swapaxes(M, 1, 2), M)
    assert_zero(W + np.swapaxes(W, 1, 2), at["size of W"])
    least = np.linalg.eigvalsh((M + np.swapaxes(M, 1, 2)) / 2).min()
    assert least > (-ROUNDING * np.abs(M).max() if name == "GFINN" else 0)
    assert np.abs(at["f"]).max() > 0


@every_model
@every_dimension
@everywhere
def test_the_gradient_is_that_of_the_potential(name, dimension, units, evaluated, fresh_seed):
    at = evaluated(name, dimension, units)
    assert_zero(at["dV"] - at["dV by itself"], at["dV"])


@every_model
@every_dimension
@everywhere
def test_the_irreversible_drift_does_not_change_the_potential(name, dimension, units, evaluated, fresh_seed):
    at = evaluated(name, dimension, units)
    W, dV, f_irr = at["W"], at["dV"], at["f_irr"]
    assert_zero(f_irr + times(W, dV), at["size of W"], dV)
    assert_zero(dot(f_irr, dV), at["size of W"], dV, dV)
    if name == "Onsager":
        assert not W.any() and not f_irr.any()
    elif name != "GFINN":
        assert np.abs(f_irr).max() > 1e-6


@pytest.mark.parametrize("name", ["Onsager", "OnsagerNet", "S-OnsagerNet"])
@every_dimension
@everywhere
def test_the_entropy_production_is_that_of_the_irreversible_drift_in_the_metric_of_the_noise(
    name, dimension, units, evaluated, fresh_seed
):
    """f_irr^T D^-1 f_irr, where D is M, or sigma sigma^T / 2 if the model has noise of its own."""
    at = evaluated(name, dimension, units)
    sigma, f_irr = at.get("sigma"), at["f_irr"]
    D = at["M"] if sigma is None else sigma @ np.swapaxes(sigma, 1, 2) / 2
    plain = dot(f_irr, np.linalg.solve(D, f_irr[..., None])[..., 0])
    # The factorisation raises the diagonal by 4 D roundings, which an inverse takes times its condition.
    np.testing.assert_allclose(at["s"], plain, rtol=100 * dimension * EPS * np.linalg.cond(D).max())


@every_dimension
def test_a_gfinn_keeps_its_energy_and_never_lowers_its_entropy(
    dimension, built, states, evaluated, quickly, x64, fresh_seed
):
    """L grad S = 0 and M grad E = 0 whatever the weights, so dE/dt = 0 and dS/dt = grad S^T M grad S."""
    model, at = built("GFINN", dimension), evaluated("GFINN", dimension, "inside")
    gradients = quickly(jax.vmap(lambda z: (jax.grad(model.energy)(z), jax.grad(model.entropy)(z))))
    dE, dS = (np.asarray(g) for g in gradients(states(dimension)))
    L, M, f, size = at["W"], at["M"], at["f"], at["M"].max() + at["size of W"].max()
    assert_zero(times(L, dS), at["size of W"], dS)
    assert_zero(times(M, dE), M, dE)
    assert_zero(dot(dE, f), size, np.abs(dE).max() + np.abs(dS).max(), dE)
    rate = dot(dS, f)
    assert_zero(np.minimum(rate, 0), size, np.abs(dE).max() + np.abs(dS).max(), dS)
    assert_zero(at["s"] - rate, size, np.abs(dE).max() + np.abs(dS).max(), dS)
    assert rate.max() > 1e-6


@every_dimension
def test_a_gfinn_has_a_reversible_part_in_more_than_two_dimensions_only(dimension, evaluated, fresh_seed):
    """In the plane L grad S = 0 leaves no antisymmetric L but zero."""
    at = evaluated("GFINN", dimension, "inside")
    if dimension == 2:
        assert_zero(at["W"], at["size of W"])
    else:
        assert np.abs(at["W"]).max() > 1e-3 * at["size of W"].max()


@every_dimension
@everywhere
def test_the_noise_of_s_onsager_net_is_a_factor_of_its_own(dimension, units, evaluated, fresh_seed):
    """sigma is lower triangular with positive diagonal, and not the root of 2 M."""
    at = evaluated("S-OnsagerNet", dimension, units)
    sigma = at["sigma"]
    assert not np.triu(sigma, 1).any()
    assert np.diagonal(sigma, axis1=1, axis2=2).min() > 0
    assert np.abs(sigma @ np.swapaxes(sigma, 1, 2) / 2 - at["M"]).max() > 1e-3 * np.abs(at["M"]).max()


@every_dimension
def test_the_drift_of_s_onsager_net_is_that_of_onsager_net(
    dimension, built, states, evaluated, quickly, x64, fresh_seed
):
    parts = built("S-OnsagerNet", dimension)
    plain = OnsagerDrift(parts.potential_component, parts.dissipation_component, parts.circulation_component)
    f = quickly(jax.vmap(plain.drift))(states(dimension))
    at = evaluated("S-OnsagerNet", dimension, "inside")
    assert_zero(f - at["f"], at["f"])


@pytest.mark.parametrize("name", ["Onsager", "OnsagerNet", "S-OnsagerNet"])
@every_dimension
@everywhere
def test_another_potential_gives_the_same_drift(name, dimension, units, evaluated, fresh_seed):
    """phi(V), M / phi', W / phi' with 3 < phi' <= 4: everything changes but their product."""
    at, other = evaluated(name, dimension, units), evaluated(name, dimension, units, changed=True)
    assert_zero(other["f"] - at["f"], np.abs(at["M"]).max() + np.abs(at["W"]).max(), at["dV"])
    assert_zero(other["f_irr"] - at["f_irr"], at["W"], at["dV"])
    V = at["V"]
    slope = 4 - np.tanh(V) ** 2
    np.testing.assert_allclose(other["V"], 3 * V + np.tanh(V), rtol=ROUNDING)
    assert_zero(other["dV"] - slope[:, None] * at["dV"], at["dV"])
    for part in ("M", "W"):
        np.testing.assert_allclose(other[part], at[part] / slope[:, None, None], rtol=ROUNDING)


@every_dimension
def test_another_split_gives_the_same_drift_with_the_same_potential(dimension, evaluated, fresh_seed):
    """Any B with B grad V = 0: its symmetric part added to M, its antisymmetric part to W."""
    at = evaluated("OnsagerNet", dimension, "inside")
    M, W, dV = at["M"], at["W"], at["dV"]
    across = np.eye(dimension) - dV[:, :, None] * dV[:, None] / dot(dV, dV)[:, None, None]
    B = np.random.default_rng(fresh_seed).standard_normal((5, dimension, dimension)) @ across
    B *= (np.linalg.eigvalsh(M).min(axis=1) / np.linalg.norm(B, 2, axis=(1, 2)) / 2)[:, None, None]
    other_M, other_W = M + (B + np.swapaxes(B, 1, 2)) / 2, W + (B - np.swapaxes(B, 1, 2)) / 2
    assert np.linalg.eigvalsh(other_M).min() > 0
    assert_zero(times(other_M + other_W, dV) + at["f"], np.abs(M).max() + np.abs(W).max(), dV)
    moved = np.linalg.norm(times(other_W, dV) + at["f_irr"], axis=1)
    largest = np.linalg.norm(B, 2, axis=(1, 2)) * np.linalg.norm(dV, axis=1)
    assert (moved / largest).max() > 1e-3


@pytest.mark.parametrize("name", ["Onsager", "OnsagerNet"])
def test_at_a_minimum_onsagers_reciprocal_relations_hold_without_a_circulation_only(
    name, built, quickly, x64, fresh_seed
):
    """J = -(M + W) H at a minimum of V, H = H^T. Without W, J M is symmetric: all eigenvalues are real,
    and no solution spirals in.
    """
    generator = np.random.default_rng(fresh_seed)
    root, mean = generator.standard_normal((3, 3)), generator.standard_normal(3)
    parts = built(name, 3)
    start = quickly(parts.potential_component.starting_at)
    V = start(jnp.asarray(root @ root.T + np.eye(3)), jnp.asarray(mean), key=jax.random.key(fresh_seed))
    model = OnsagerDrift(V, parts.dissipation_component, parts.circulation_component)
    J, M = quickly(lambda z: (jax.jacfwd(model.drift)(z), model.dissipation(z)))(mean)
    JM = np.asarray(J @ M)
    if name == "Onsager":
        assert_zero(JM - JM.T, J, M)
    else:
        assert np.abs(JM - JM.T).max() > 1e-6 * np.abs(JM).max()


def test_onsager_net_is_the_limit_of_our_dynamics_at_zero_temperature(
    built, states, quickly, x64, fresh_seed
):
    """At the temperature T the same components give a drift that differs by T (div M + div W)."""
    net, z = built("OnsagerNet", 3), states(3)
    parts = (net.potential_component, net.dissipation_component, net.circulation_component)
    f = np.asarray(quickly(jax.vmap(net.drift))(z))
    divergences = quickly(
        jax.vmap(
            lambda z: matrix_divergence(net.dissipation, z) + matrix_divergence(net.circulation, z),
        )
    )(z)
    for T in (1.0, 0.1, 0.01, 0.001):
        warm = np.asarray(quickly(jax.vmap(ComponentDynamics(*parts, temperature=T).drift))(z))
        np.testing.assert_allclose((warm - f) / T, divergences, atol=ROUNDING * np.abs(f).max() / T)
    assert np.abs(divergences).max() > 1e-6
