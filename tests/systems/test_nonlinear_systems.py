"""The double well, the Müller-Brown surface and the varying noise against formulas written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from uidd.systems import DoubleWell, DrivenWells, Metastable, MullerBrown, VaryingNoise
from uidd.systems.langevin import entropy_production_by_quadrature, stationary_grid
from uidd.systems.muller_brown import BOX as MULLER_BROWN_BOX
from uidd.systems.muller_brown import surface
from uidd.systems.varying_noise import BOX as VARYING_NOISE_BOX

POINTS = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 2))


def double_well_drift(x, y):
    Ux, Uy = 4 * (x - 1.5) * ((x - 1.5) ** 2 - 1), y - 1.5
    return -Ux - 0.5 * Uy, -Uy + 0.5 * Ux


def muller_brown_drift(x, y):
    f = np.zeros((2, len(x)))
    for A, a, b, c, x0, y0 in (
        (-200, -1, 0, -10, 1, 0),
        (-100, -1, 0, -10, 0, 0.5),
        (-170, -6.5, 11, -6.5, -0.5, 1.5),
        (15, 0.7, 0.6, 0.7, -1, 1),
    ):
        u, v = x - x0, y - y0
        term = A * np.exp(a * u**2 + b * u * v + c * v**2)
        f -= 0.01 * term * np.array([2 * a * u + b * v, b * u + 2 * c * v])
    return f


def metastable_drift(x, y):
    turn = 1 + np.sin(x)
    return x * (1 - x**2) / 5 + y * turn, -y + 2 * x * (1 - x**2) * turn


def varying_noise_parts(x, y):
    """grad V, M, div M, w and div W of W = w [[0, 1], [-1, 0]], all by hand, for c = .2."""
    gradient = np.array([4 * x * (x**2 - 1) - (y - x / 2), 2 * (y - x / 2)])
    a, b, c = 1 + 0.6 * x / np.sqrt(1 + x**2), y / (1 + y**2), (2 + 2 / (1 + (x + y) ** 2)) / 3
    M = np.array([[a**2, a * b], [a * b, b**2 + c**2]]) / 2
    a_x, b_y = 0.6 / (1 + x**2) ** 1.5, (1 - y**2) / (1 + y**2) ** 2
    c_y = -4 * (x + y) / (3 * (1 + (x + y) ** 2) ** 2)
    div_M = np.array([a * a_x + a * b_y / 2, a_x * b / 2 + b * b_y + c * c_y])
    r = 1 + x**2 + y**2
    w = 0.2 * (1 + x * y / r)
    div_W = 0.2 * np.array([x / r - 2 * x * y**2 / r**2, -(y / r - 2 * x**2 * y / r**2)])
    return gradient, M, div_M, w, div_W


def varying_noise_drift(x, y):
    (Vx, Vy), M, div_M, w, div_W = varying_noise_parts(x, y)
    return -np.einsum("ij...,j...->i...", M, [Vx, Vy]) - w * np.array([Vy, -Vx]) + div_M + div_W


@pytest.mark.parametrize(
    ("system", "drift"),
    [
        (DoubleWell(), double_well_drift),
        (MullerBrown(), muller_brown_drift),
        (Metastable(), metastable_drift),
        (VaryingNoise(), varying_noise_drift),
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_the_drift_is_that_of_the_equations(system, drift, x64):
    computed = jax.vmap(system.dynamics.drift)(jnp.asarray(POINTS))
    assert np.allclose(computed, np.transpose(drift(*POINTS.T)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("circulation", [0.5, 1.0, 0.0])
def test_the_double_wells_rate_is_a_mean_curvature(circulation):
    """By parts <|grad U|^2> = D <lap U>: EPR = c^2 <12 u^2 - 3>, u = x - 1.5 ~ e^(-10 (u^2 - 1)^2)."""

    def weight(u):
        return np.exp(-10 * (u**2 - 1) ** 2)

    top = scipy.integrate.quad(lambda u: (12 * u**2 - 3) * weight(u), 0, 4, epsabs=1e-12)[0]
    curvature = top / scipy.integrate.quad(weight, 0, 4, epsabs=1e-12)[0]
    rate = DoubleWell(circulation).entropy_production_rate
    assert rate == pytest.approx(circulation**2 * curvature, rel=1e-9)
    if circulation == 0.5:
        assert rate == pytest.approx(2.16757, abs=5e-6)


@pytest.mark.slow
def test_the_driven_wells_rate_by_drawing(x64):
    """The mean of f_irr M^-1 f_irr over exact draws, instead of the mean curvature."""
    system = DrivenWells(0.5)
    states = np.concatenate(system.simulate(40_000, 2, 1e-6, seed=0).states)[::2]
    local = (np.asarray(jax.vmap(system.dynamics.irreversible_drift)(jnp.asarray(states))) ** 2).sum(axis=1)
    assert abs(local.mean() - system.entropy_production_rate) < 5 * local.std() / len(local) ** 0.5
    assert DrivenWells(0.0).entropy_production_rate == 0


def test_the_varying_noises_rate_by_gauss_hermite():
    """y = x/2 + N(0, 1/2) given x, and the hand-written formulas, instead of the grid and differentiation."""
    nodes, weights = np.polynomial.hermite.hermgauss(120)
    x = np.linspace(-3, 3, 601)[:, None]
    y = x / 2 + nodes
    (Vx, Vy), M, _, w, div_W = varying_noise_parts(x + 0 * y, y)
    current = -w * np.array([Vy, -Vx]) + div_W
    force = np.linalg.solve(M.transpose(2, 3, 0, 1), current.transpose(1, 2, 0)[..., None])[..., 0]
    local = np.einsum("i...,...i->...", current, force)
    density = np.exp(-((x**2 - 1) ** 2)) * weights
    assert VaryingNoise().entropy_production_rate == pytest.approx(
        (density * local).sum() / density.sum(), rel=1e-6
    )


def test_the_varying_noises_rate_is_quadratic_in_the_circulation():
    assert VaryingNoise(0.4).entropy_production_rate == pytest.approx(
        4 * VaryingNoise(0.2).entropy_production_rate
    )
    assert VaryingNoise(0.0).entropy_production_rate == 0


def test_the_quadrature_has_converged(x64):
    coarse = entropy_production_by_quadrature(VaryingNoise().dynamics, VARYING_NOISE_BOX, 200)
    assert VaryingNoise().entropy_production_rate == pytest.approx(coarse, rel=1e-9)


def test_the_noise_varies_by_more_than_a_factor_of_four():
    """Between the 5th and the 95th percentile of the stationary density."""
    dynamics = VaryingNoise().dynamics
    nodes, weights, _ = stationary_grid(dynamics, VARYING_NOISE_BOX, 100)
    M = np.asarray(jax.vmap(dynamics.dissipation)(jnp.asarray(nodes)))[:, 0, 0]
    order = np.argsort(M)
    low, high = M[order][np.searchsorted(np.cumsum(weights[order]), (0.05, 0.95))]
    assert high / low > 4


def test_the_muller_brown_surface_has_the_published_wells_and_saddles(x64):
    system = MullerBrown()
    assert np.allclose(system.minima, [(-0.5582, 1.4417), (0.6235, 0.0280), (-0.0500, 0.4667)], atol=5e-5)
    assert np.allclose(system.saddles, [(-0.8220, 0.6243), (0.2125, 0.2930)], atol=5e-5)
    heights = [float(surface(jnp.asarray(z))) for z in (*system.minima, *system.saddles)]
    assert np.allclose(heights, [-146.6995, -108.1667, -80.7678, -40.6648, -72.2489], atol=5e-5)
    assert np.allclose(system.barriers, [2.1207, 0.1704], atol=5e-5)
    assert system.entropy_production_rate == 0


@pytest.mark.parametrize("system", [DoubleWell(), DrivenWells(), MullerBrown(), VaryingNoise()], ids=repr)
def test_minima_and_saddles_are_what_they_are_called(system, x64):
    V = system.dynamics.potential
    slope, hessian = jax.jit(jax.grad(V)), jax.jit(jax.hessian(V))
    for points, descending in ((system.minima, 0), (system.saddles, 1)):
        for z in jnp.asarray(points):
            assert np.abs(slope(z)).max() < 1e-9
            assert (np.linalg.eigvalsh(hessian(z)) < 0).sum() == descending
    lower = system.minima[[0, 2]] if isinstance(system, MullerBrown) else system.minima[:1]
    rise = [float(V(jnp.asarray(s)) - V(jnp.asarray(m))) for s, m in zip(system.saddles, lower, strict=True)]
    assert np.allclose(system.barriers, rise)


def test_the_boxes_hold_all_of_the_density():
    for system, box in ((MullerBrown(), MULLER_BROWN_BOX), (VaryingNoise(), VARYING_NOISE_BOX)):
        weights = stationary_grid(system.dynamics, box)[1].reshape(400, 400)
        assert max(weights[[0, -1]].max(), weights[:, [0, -1]].max()) < 1e-15
