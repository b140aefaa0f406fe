"""Paths and barriers: heights that are known, and no number from a search that failed."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
import surfaces

from uidd import InputError, Result
from uidd.landscape import barrier, barriers, minimum_energy_path
from uidd.systems import DoubleWell
from uidd.systems.muller_brown import surface

DEEP, FAR, MIDDLE = [-0.55, 1.44], [0.62, 0.03], [-0.05, 0.47]


@pytest.mark.slow
def test_the_path_between_the_deep_wells_of_muller_and_brown_stops_at_the_third():
    path = minimum_energy_path(surface, DEEP, FAR)
    assert path.result == "ok"
    np.testing.assert_allclose([p.energy for p in path.minima], [-146.6995, -80.7678, -108.1667], atol=1e-3)
    np.testing.assert_allclose([p.energy for p in path.saddles], [-40.6648, -72.2489], atol=1e-3)
    np.testing.assert_allclose(path.points[[0, -1]], [path.minima[0].x, path.minima[-1].x])
    assert path.highest is path.saddles[0]


@pytest.mark.slow
def test_along_a_path_the_gradient_is_along_the_path():
    import jax

    path = minimum_energy_path(surface, MIDDLE, FAR)
    with jax.enable_x64(True):
        g = np.asarray(jax.vmap(jax.grad(surface))(path.points[2:-2]))
    widths = 1 / np.sqrt(np.mean([np.diag(_hessian(p.x)) for p in path.minima], axis=0))
    tangent = (path.points[3:-1] - path.points[1:-3]) / widths
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    g = g * widths
    across = g - np.sum(g * tangent, axis=1, keepdims=True) * tangent
    assert np.linalg.norm(across, axis=1).max() < 0.05 * np.linalg.norm(g, axis=1).max()


def _hessian(x):
    import jax

    with jax.enable_x64(True):
        return np.asarray(jax.hessian(surface)(x))


def test_heights_differ_by_the_depth_of_the_ends_and_the_way_back_is_the_same():
    there, back = barrier(surface, DEEP, FAR), barrier(surface, FAR, DEEP)
    assert there.height == pytest.approx(-40.66484 + 146.69952, abs=1e-3)
    assert back.height == pytest.approx(-40.66484 + 108.16672, abs=1e-3)
    assert np.isnan(there.standard_error)


@pytest.mark.slow
def test_the_barrier_of_the_driven_double_well_is_ten_kT():
    system = DoubleWell()
    found = barrier(system.dynamics.potential, [0.6, 1.4], [2.4, 1.6])
    assert found.result == "ok" and found.height == pytest.approx(10, abs=1e-6)
    (only,) = barriers(system.dynamics.potential, np.random.default_rng(0).uniform(0, 3, (40, 2)))
    assert only.height == pytest.approx(10, abs=1e-6)


@pytest.mark.slow
def test_all_barriers_of_a_mixture_in_twelve_dimensions():
    generator = np.random.default_rng(0)
    spread = np.concatenate([c + 0.7 * generator.normal(size=(12, 12)) for c in surfaces.CENTERS])
    found = barriers(surfaces.mixture, spread)
    assert all(each.result == "ok" and each.saddle.index == 1 for each in found)
    ends = {k for each in found for k in (_nearest(each.minimum_a), _nearest(each.minimum_b))}
    assert ends == {0, 1, 2, 3}
    # The top between two equal Gaussians lies in the middle: |a - b|^2 / (8 s^2) - log 2, up to the others.
    for each in found:
        a, b = _nearest(each.minimum_a), _nearest(each.minimum_b)
        gap = np.sum((surfaces.CENTERS[a] - surfaces.CENTERS[b]) ** 2) / surfaces.WIDTH**2
        rise = surfaces.DEPTHS[b] - surfaces.DEPTHS[a]
        middle = (gap / 2 + rise) ** 2 / (2 * gap) - np.log(2)
        assert each.height < middle + 0.1


def _nearest(point):
    return int(np.argmin(np.linalg.norm(surfaces.CENTERS - point.x, axis=1)))


@pytest.mark.slow
def test_a_stop_on_the_way_is_reported():
    found = barrier(surfaces.with_a_stop, [-1.1, 1.1], [1.1, 1.1])
    assert found.result == "ok"
    assert len(found.path.minima) == 3 and len(found.path.saddles) == 2
    np.testing.assert_allclose(found.path.minima[1].x, 0, atol=1e-9)
    graph = barriers(surfaces.with_a_stop, [[-1.1, 1.1], [1.1, 1.1]])
    assert len(graph) == 2  # the stop was not among the starts


@pytest.mark.slow
def test_over_a_monkey_saddle_there_is_no_barrier_to_state():
    # Between any two of the three wells the lowest path leads over the point where the Hessian vanishes.
    wells = [[-3.0, 0.0], [1.5, 2.598]]
    found = barrier(surfaces.monkey, *wells)
    assert found.result != "ok" and np.isnan(found.height) and found.saddle is None
    assert found.result.message
    assert "no barrier" in str(found)


def test_one_basin_has_no_barrier_within():
    found = barrier(surface, DEEP, [-0.5, 1.4])
    assert found.result == "same_minimum" and np.isnan(found.height)


def test_a_slope_has_no_minimum():
    found = barrier(lambda z: z[0] + z[1] ** 2, [0.0, 0.0], [1.0, 1.0])
    assert found.result == "no_minimum" and np.isnan(found.height)


@pytest.mark.slow
def test_units_do_not_matter():
    scaled = barrier(
        lambda z: surface(z * np.array([1e6, 1e-3])),
        np.array(DEEP) * [1e-6, 1e3],
        np.array(FAR) * [1e-6, 1e3],
    )
    assert scaled.height == pytest.approx(106.03467, abs=1e-4)


def test_states_of_different_dimension_are_refused():
    with pytest.raises(InputError, match="`b` must be one state like `a`"):
        barrier(surface, [0.0, 1.0], [0.0, 1.0, 2.0])


def test_in_one_dimension():
    assert barrier(lambda z: 3 * (z[0] ** 2 - 1) ** 2, [-1.0], [1.0]).height == pytest.approx(3.0)


@pytest.fixture
def members(monkeypatch):
    """Surfaces that stand for the members of an ensemble."""

    def stand(*functions):
        module = importlib.import_module("uidd.landscape.barrier")
        monkeypatch.setattr(module, "center_of", lambda potential: (potential, functions, None))

    return stand


def test_the_error_is_the_spread_over_the_members(members):
    shares = np.array([0.9, 0.95, 1.0, 1.05, 1.1])
    members(*(lambda z, c=c: c * surface(z) for c in shares))
    found = barrier(surface, DEEP, FAR)
    assert found.result == "ok"
    np.testing.assert_allclose(found.members, shares * found.height, rtol=1e-9)
    assert found.standard_error == pytest.approx(found.height * np.std(shares, ddof=1))


def test_members_follow_a_saddle_that_lies_a_little_elsewhere(members):
    members(*(lambda z, d=d: surface(z - d) for d in (np.array([0.01, -0.01]), np.array([-0.02, 0.01]))))
    found = barrier(surface, DEEP, FAR)
    np.testing.assert_allclose(found.members, found.height, rtol=1e-9)


def test_members_without_the_barrier_are_told(members):
    members(surface, lambda z: z @ z, lambda z: surface(z + 3.0))
    found = barrier(surface, DEEP, FAR)
    assert found.result == "members_differ" and "1 of 3" in found.result.message
    assert np.isfinite(found.members).sum() == 1


def test_a_lower_saddle_does_not_stand_in_for_a_summit_whose_search_failed(monkeypatch):
    """Over the way to the far well lie two saddles; the search for the higher one is made to fail."""
    module = importlib.import_module("uidd.landscape.path")
    ascend = module.ascend

    def blind(*given):
        high = Result("not_converged", "made up")
        return [replace(p, result=high) if p.energy > -50 else p for p in ascend(*given)]

    monkeypatch.setattr(module, "ascend", blind)
    monkeypatch.setattr(module, "relax", lambda surface, states: _without_the_stop(surface, states))
    found = barrier(surface, DEEP, FAR)
    assert found.result == "no_saddle" and np.isnan(found.height)


def _without_the_stop(surface, states):
    from uidd.landscape.minima import relax

    return [
        replace(p, result=Result("not_converged", "made up")) if abs(p.energy + 80.77) < 0.1 else p
        for p in relax(surface, states)
    ]


def test_known_dynamics_stand_for_their_potential():
    system = DoubleWell(0.5)
    assert barrier(system.dynamics, *system.minima).height == pytest.approx(10, rel=1e-9)
