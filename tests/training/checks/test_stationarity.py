"""Paths that end where they began, and paths that do not."""

import numpy as np
import pytest
import scipy.stats

from uidd.data import Trajectories
from uidd.systems import Trap
from uidd.training.checks.stationarity import KEPT, is_stationary, recorded_states, stationary_chance


def starting(width, *, frames, paths, seed):
    generator = np.random.default_rng(seed)
    trap = Trap()
    z = width * (generator.standard_normal((paths, 2)) * 0.5**0.5)
    states, dt = [z], 0.05
    drift = np.array([[-1.0, -trap.strength], [trap.strength, -1.0]])
    for _ in range(frames):
        z = z + dt * z @ drift.T + (2 * 0.5 * dt) ** 0.5 * generator.standard_normal(z.shape)
        states.append(z)
    return Trajectories.from_arrays(np.stack(states, axis=1), dt=dt)


@pytest.mark.parametrize(("frames", "paths"), [(200, 60), (4, 5000)])
def test_starts_from_the_stationary_state_pass_and_wider_ones_do_not(frames, paths):
    """Ten data sets at a chance of 1e-2 each: three alarms have a chance of 1e-4."""
    passed = [is_stationary(starting(1.0, frames=frames, paths=paths, seed=seed)) for seed in range(10)]
    assert sum(passed) >= 8
    assert not is_stationary(starting(3.0, frames=frames, paths=paths, seed=0))


def test_recorded_states_are_evenly_spaced_and_not_too_many():
    data = starting(1.0, frames=2000, paths=60, seed=0)
    kept = recorded_states(data)
    assert KEPT / 2 < len(kept) <= KEPT
    np.testing.assert_array_equal(kept[1], np.concatenate(data.states)[8])


def test_the_chance_is_a_chance_and_knows_no_coordinates():
    """Uniform if nothing changes (Kolmogorov and Smirnov), and the same in oblique coordinates."""
    sets = [starting(1.0, frames=40, paths=60, seed=seed) for seed in range(100)]
    chances = [stationary_chance(data) for data in sets]
    assert scipy.stats.kstest(chances, "uniform").pvalue > 1e-3
    oblique = np.array([[1.0, 30.0], [0.0, 0.2]])
    turned = Trajectories.from_arrays([s @ oblique.T for s in sets[0].states], dt=0.05)
    # Clipping at five standard deviations is along the coordinates, and next to nothing is clipped.
    np.testing.assert_allclose(stationary_chance(turned), chances[0], rtol=1e-6)


@pytest.mark.parametrize("paths", [21, 40, 200])
def test_few_paths_in_many_dimensions_are_asked_for_less(paths):
    """Eight coordinates have 44 powers: with 21 paths only the distance is asked about. Null and alarm."""
    generator = np.random.default_rng(0)

    def relaxing(width):
        first, last = width * generator.standard_normal((paths, 8)), generator.standard_normal((paths, 8))
        return Trajectories.from_arrays(np.stack([first, last], axis=1), dt=1.0)

    assert sum(is_stationary(relaxing(1.0)) for _ in range(20)) >= 17
    assert not is_stationary(relaxing(2.0))
