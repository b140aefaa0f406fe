"""Passes over the data."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from uidd.data import Transitions
from uidd.dynamics import AbstractEquation
from uidd.likelihood import Cubature, EulerMaruyama
from uidd.training.solvers.sample import Sample
from uidd.training.solvers.scores import whitened

NONE = np.zeros(0)


class Bare(Cubature):
    """Without the second look."""

    @property
    def finer(self):
        return None


class Wall(AbstractEquation):
    """dx = -x^3 dt + dB: the farther out, the stiffer."""

    strength: jnp.ndarray

    @property
    def noise_is_uniform(self) -> bool:
        return True

    def diffusion(self, z):
        return jnp.eye(1, dtype=z.dtype)

    def drift_and_diffusion(self, z):
        return -self.strength * z**3, self.diffusion(z)


class Own:
    """The coefficients of a wall."""

    def __init__(self, dynamics):
        self.chosen, self.frozen = eqx.partition(dynamics, eqx.is_array)

    def unravelled(self, _vector):
        return self.chosen


def pairs_of(starts):
    """Starts, and increments that lead to next to zero: from there the wall throws nobody back."""
    starts = np.asarray(starts, float)[:, None]
    pairs = Transitions(starts, 0.4 - starts, np.full(len(starts), 1.0))
    return Sample(pairs, np.zeros(len(starts), int), 1)


def test_pairs_that_seem_impossible_are_looked_at_in_finer_steps():
    """From x = 1.8 the rate 3 x^2 dt = 9.7 is more than one step of the classical scheme can bear (2.8), and
    less than four can. Where the steps were good they stay."""
    own, data = Own(Wall(jnp.ones(()))), pairs_of([*np.linspace(-0.5, 0.5, 40), 1.8])
    bare = [whitened(own, NONE, Bare(steps), data).log_densities for steps in (1, 4)]
    found = whitened(own, NONE, Cubature(1), data).log_densities
    assert bare[0][-1] < np.median(bare[0]) - 20 < bare[1][-1]
    np.testing.assert_allclose(found[:-1], bare[0][:-1], rtol=1e-6)
    np.testing.assert_allclose(found[-1], bare[1][-1], rtol=1e-6)


def test_a_scheme_without_finer_steps_says_what_it_says():
    own, data = Own(Wall(jnp.ones(()))), pairs_of([*np.linspace(-0.5, 0.5, 40), 3.0])
    assert EulerMaruyama().finer is None
    assert whitened(own, NONE, EulerMaruyama(), data).log_densities[-1] < -100


def test_a_pair_that_the_model_has_with_no_chance_stays_as_it_was_recorded():
    """From x = 3 one step throws it to a thousand: half way there is no state that tells of the system."""
    own, data = Own(Wall(jnp.ones(()))), pairs_of([*np.linspace(-0.5, 0.5, 40), 3.0])
    found = whitened(own, NONE, Bare(1), data)
    assert np.abs(found.noise[-1]) > 100
    for made, recorded in zip(found.euler_pairs.pairs[:2], data.pairs[:2], strict=True):
        assert made[-1] == recorded[-1] and (made[:-1] != recorded[:-1]).all()
