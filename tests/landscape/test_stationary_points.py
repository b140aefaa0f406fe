"""Minima and saddles against the exact ones; nothing else may be accepted."""

import jax
import numpy as np
import pytest
import surfaces
from scipy.optimize import minimize

from uidd import InputError
from uidd.landscape import find_minima, find_saddle, find_saddles
from uidd.systems import MullerBrown
from uidd.systems.muller_brown import surface

BOX = np.array([-1.5, -0.5]), np.array([1.2, 2.0])
# Müller and Brown 1979, Theor. Chim. Acta 53, 75: as recomputed by many since.
WELLS = {(-0.5582, 1.4417): -146.6995, (0.6235, 0.0280): -108.1667, (-0.0500, 0.4667): -80.7678}
PASSES = {(-0.8220, 0.6243): -40.6648, (0.2125, 0.2930): -72.2489}


def starts(count, seed=0):
    return np.random.default_rng(seed).uniform(*BOX, (count, 2))


def assert_points(found, wanted):
    assert len(found) == len(wanted)
    for point in found:
        near = min(wanted, key=lambda x: np.linalg.norm(np.subtract(x, point.x)))
        np.testing.assert_allclose(point.x, near, atol=1e-4)
        assert abs(point.energy - wanted[near]) < 1e-3
        assert point.gradient_norm < 1e-8


@pytest.mark.slow
def test_all_wells_and_passes_of_muller_and_brown():
    assert_points(find_minima(surface, starts(64)), WELLS)
    assert_points(find_saddles(surface, starts(200)), PASSES)


@pytest.mark.slow
def test_a_thousand_random_starts_and_no_wrong_acceptance():
    wide = np.random.default_rng(3).uniform([-2.0, -1.0], [1.5, 2.5], (1000, 2))
    found = find_saddle(surface, wide)
    assert len(found) == 1000
    accepted = [point for point in found if point.result == "ok"]
    assert len(accepted) > 300
    for point in accepted:
        assert min(np.linalg.norm(np.subtract(x, point.x)) for x in PASSES) < 1e-4
        assert point.index == 1 and (point.eigenvalues < 0).sum() == 1
    assert all(point.result.message for point in found if point.result != "ok")


@pytest.mark.slow
def test_the_ascent_obeys_both_equations():
    """From one start, against SciPy's integration of the same equations."""
    from scipy.integrate import solve_ivp

    gradient, hessian = jax.jit(jax.grad(surface)), jax.jit(jax.hessian(surface))

    def flow(t, state):
        z, v = state[:2], state[2:]
        g, Hv = np.asarray(gradient(z), float), np.asarray(hessian(z), float) @ v
        return np.concatenate([-g + 2 * (v @ g) / (v @ v) * v, -Hv + (v @ Hv) / (v @ v) * v])

    start = np.array([-0.2, 0.55])
    v = np.linalg.eigh(np.asarray(hessian(start), float))[1][:, 0]
    end = solve_ivp(flow, (0, 0.5), [*start, *v], method="LSODA", rtol=1e-8, atol=1e-9).y[:2, -1]
    np.testing.assert_allclose(find_saddle(surface, start).x, end, atol=1e-3)


def test_the_wells_of_a_mixture_in_twelve_dimensions():
    generator = np.random.default_rng(0)
    spread = np.concatenate([c + 0.7 * generator.normal(size=(12, 12)) for c in surfaces.CENTERS])
    found = find_minima(surfaces.mixture, spread)
    assert len(found) == 4
    for point, center, depth in zip(found, surfaces.CENTERS, surfaces.DEPTHS, strict=True):
        np.testing.assert_allclose(point.x, center, atol=1e-4)
        assert abs(point.energy - depth) < 1e-6
        np.testing.assert_allclose(point.eigenvalues, 1 / surfaces.WIDTH**2, rtol=1e-3)


def test_a_monkey_saddle_is_no_saddle():
    near = 0.3 * np.random.default_rng(0).normal(size=(50, 2))
    found = find_saddle(surfaces.monkey, near)
    at_origin = [point for point in found if np.linalg.norm(point.x) < 1e-3]
    assert at_origin
    assert {point.result.code for point in at_origin} == {"degenerate"}
    assert find_saddles(surfaces.monkey, near) == []


def test_a_ring_has_no_minimum_that_could_be_named():
    assert find_minima(surfaces.ring, np.random.default_rng(0).normal(size=(30, 2))) == []


def test_summits_are_told_apart_from_saddles():
    found = find_saddle(lambda z: -(z @ z) + 0.1 * (z @ z) ** 2, [[0.05, 0.02], [0.01, -0.03]])
    assert {point.result.code for point in found} <= {"wrong_index", "degenerate", "not_converged"}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_units_do_not_matter(unit):
    found = find_minima(lambda z: surface(z / unit), starts(32) * unit)
    reference = find_minima(surface, starts(32))
    np.testing.assert_allclose([p.x / unit for p in found], [p.x for p in reference], atol=1e-7)
    np.testing.assert_allclose([p.energy for p in found], [p.energy for p in reference], rtol=1e-10)


def test_against_scipy():
    def one(z):
        return (z[0] ** 2 - 1) ** 2 + 0.3 * z[0] + 2 * (z[1] - z[0] ** 3) ** 2

    found = find_minima(one, starts(32))
    for point in found:
        again = minimize(lambda z: float(one(z)), point.x, method="Nelder-Mead", options={"xatol": 1e-7})
        np.testing.assert_allclose(point.x, again.x, atol=1e-4)
    assert len(found) == 2


def test_a_potential_that_is_nowhere_finite_is_said_to_be_so():
    point = find_saddle(lambda z: np.nan * z[0], [0.1, 0.2])
    assert point.result == "not_finite" and point.result.message
    assert find_minima(lambda z: np.nan * z[0], [[0.1, 0.2]]) == []


@pytest.mark.parametrize(
    ("potential", "given", "words"),
    [
        (3.0, [[0.0, 1.0]], "`potential` must be a function"),
        (surface, [[np.nan, 1.0]], "`starts` must be finite states"),
        (surface, "here", "`starts` must be finite states"),
        (surface, None, "`starts` must be given"),
    ],
)
def test_bad_input_is_told_in_one_sentence(potential, given, words):
    for search in (find_minima, find_saddle):
        with pytest.raises(InputError, match=words):
            search(potential, given)


def test_the_system_knows_the_same_points():
    found = find_minima(MullerBrown().dynamics.potential, starts(64))
    np.testing.assert_allclose([p.x for p in found], MullerBrown().minima, atol=1e-6)
