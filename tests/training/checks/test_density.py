"""Recorded states against e^-V: exact paths of an oscillator, and models with a right or a wrong V."""

import equinox as eqx
import jax
import numpy as np
import pytest
import scipy.linalg

from uidd.data import Scaling, Trajectories
from uidd.models import Architecture, Coefficients, Ensemble, Model
from uidd.training.checks.density import _powers, density_misfit


def oscillator(seed, paths=200, frames=30, dt=0.02):
    """dz = -(1/2 + 5 J) z dt + dB, carried over each interval exactly: V = |z|^2 / 2, and 5 >> M."""
    A = -np.array([[0.5, 5.0], [-5.0, 0.5]])
    step, kick = scipy.linalg.expm(A * dt), np.sqrt(1 - np.exp(-dt))
    generator = np.random.default_rng(seed)
    z = [generator.standard_normal((paths, 2))]
    for _ in range(frames):
        z.append(z[-1] @ step.T + kick * generator.standard_normal((paths, 2)))
    return Trajectories.from_arrays(np.stack(z, axis=1), dt=dt)


def believed(stiffness, spread=0.0):
    """M = 1/2, V = stiffness |z|^2 / 2, known up to `spread` of the stiffness."""
    spec = Architecture().plain
    built = spec.build(2, key=jax.random.key(0))

    def with_stiffness(k):
        V = built.potential_component
        return eqx.tree_at(lambda d: d.potential_component.stiffness, built, 0 * V.stiffness + k * np.eye(2))

    model = Model(with_stiffness(stiffness), spec, Scaling.identity(2))
    own = Coefficients.of(model.unit)
    moved = Coefficients.of(with_stiffness(stiffness + spread)).vector - own.vector
    return Ensemble(model, moved[None], moved[None], moved[None], np.zeros((100, 2)))


def test_states_of_the_model_lie_as_it_says():
    """Thirty recordings: the chance is below 5 % in at most six (binomial, 1e-3), and uniform."""
    chances = np.array([density_misfit(believed(1.0), oscillator(seed))[0] for seed in range(30)])
    assert np.sum(chances < 0.05) <= 6 and chances.min() > 1e-4
    assert abs(chances.mean() - 0.5) < 5 * 12**-0.5 / 30**0.5


@pytest.mark.parametrize("stiffness", [0.2, 1.8])
def test_a_V_that_is_too_flat_or_too_steep_is_told_with_its_size(stiffness):
    """V' - V = (1 - k) |z|^2 / 2, whose standard deviation is 1 - k: |z|^2 / 2 is exponential."""
    chance, size = density_misfit(believed(stiffness), oscillator(0))
    assert chance < 1e-6
    assert abs(size - abs(1 - stiffness)) < 0.2


def test_what_is_known_not_to_be_known_is_not_told():
    """V is off by one of its own errors."""
    assert density_misfit(believed(0.5, 0.5), oscillator(0))[0] > 1e-2


def test_a_path_alone_is_its_own_control():
    assert density_misfit(believed(1.0), oscillator(0, paths=1, frames=20_000))[0] > 1e-3
    assert density_misfit(believed(0.2), oscillator(0, paths=1, frames=20_000))[0] < 1e-6


def test_a_path_that_is_too_short_to_forget_says_nothing():
    """Ten frames in a tenth of the time to relax: states go together, and so would stretches."""
    assert density_misfit(believed(0.2), oscillator(0, paths=1, frames=10)) == (1.0, 0.0)


def test_few_paths_are_asked_for_their_distance_alone():
    """Forty paths are too few for the 44 powers of eight coordinates."""
    assert _powers(2, 40) == [(0, 0), (0, 1), (1, 1)] and _powers(8, 40) == []
    chance, size = density_misfit(believed(0.2), oscillator(0, paths=9, frames=400))
    assert 0 <= chance <= 1 and np.isfinite(size)
