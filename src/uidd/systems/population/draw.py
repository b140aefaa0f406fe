"""A system by its seed: equation, truth, and how it is recorded."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._checks import whole_number
from ..._programs import compiled
from ...data import Trajectories
from ...sampling import sample_stationary
from ...thermodynamics import local_entropy_production
from ..langevin import fine_paths
from .dynamics import RandomDynamics, draw_dynamics
from .landscapes import draw_landscape

DIMENSIONS = {1: 0.1, 2: 0.3, 3: 0.2, 4: 0.15, 5: 0.1, 6: 0.1, 12: 0.05}
PAIRS, MOST_ALONE = (1e4, 1e6), 1e5
# Frames apart, in units of the fastest time.
STEPS = (0.003, 0.3)
RECORDINGS = {"one path": 0.2, "paths": 0.5, "short paths": 0.3}
OUT_OF_PLACE = 0.3
# A path alone must cross its barriers many times, or no method could know what lies beyond.
DEEPEST_ALONE, LEAST_TIME_ALONE = 3.0, 2000.0
DRAWS = 100_000
# A step of the simulation, in units of the fastest time.
FINEST = 0.005


@dataclass(frozen=True)
class RandomSystem:
    """What a seed gives.

    Attributes:
        seed: The seed.
        dynamics: V, sigma and W.
        about: Kind of landscape, depth, noise, circulation, W over M, in words and numbers.
        draws: From e^-V / Z, `(chains, n, D)`.
        fastest: The fastest time: one over the largest rate of the linearised drift, its 90 % quantile.
        dt: Between two frames.
        paths: How many.
        frames: Of each.
        stationary: Whether the paths start in the stationary state.
    """

    seed: int
    dynamics: RandomDynamics
    about: dict[str, Any]
    draws: np.ndarray
    fastest: float
    dt: float
    paths: int
    frames: int
    stationary: bool

    @property
    def dimension(self) -> int:
        """D."""
        return self.draws.shape[-1]

    @cached_property
    def entropy_production_rate(self) -> tuple[float, float]:
        """The mean of s_tot over e^-V / Z, and its error over the populations of the draws."""
        return self.mean_rate(self.draws)

    def mean_rate(self, chains: np.ndarray) -> tuple[float, float]:
        """The mean of s_tot over states `(chains, n, D)`, and its error from the spread of the chains."""
        if self.about["circulation"] == "none":
            return 0.0, 0.0
        with jax.enable_x64(True):
            local = _local(self.dynamics, jnp.asarray(chains.reshape(-1, self.dimension)))
        means = np.asarray(local).reshape(chains.shape[:2]).mean(axis=1)
        return float(means.mean()), float(means.std(ddof=1) / len(means) ** 0.5)

    def simulate(self) -> Trajectories:
        """The recording: Heun's scheme in double precision, 20 steps between frames at the least."""
        pool = self.draws.reshape(-1, self.dimension)

        def starts(generator: np.random.Generator, count: int) -> np.ndarray:
            chosen = pool[generator.integers(len(pool), size=count)]
            if self.stationary:
                return chosen
            # Spread half as wide again around the middle, and not along the wells.
            root = np.linalg.cholesky(np.cov(pool, rowvar=False).reshape(self.dimension, -1))
            middle = pool.mean(axis=0)
            wide = np.clip(generator.standard_normal(chosen.shape), -2.5, 2.5)
            return middle + 1.5 * wide @ root.T

        with jax.enable_x64(True):
            exact = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), self.dynamics)
            step = FINEST * self.fastest
            return fine_paths(
                exact, starts, self.paths, self.frames, self.dt, largest_step=step, seed=self.seed
            )


def random_system(seed: int) -> RandomSystem:
    """Landscape, noise, circulation, dimension and recording, all drawn by the seed.

    The truth is there by construction: V, sigma and W are chosen, and the drift follows.

    >>> found = random_system(3)
    >>> found.dimension, found.about["landscape"], found.about["circulation"]
    (2, 'channel', 'constant')
    """
    generator = np.random.default_rng([whole_number("seed", seed, least=0), 20])
    dimension = int(generator.choice(list(DIMENSIONS), p=list(DIMENSIONS.values())))
    with jax.enable_x64(True):
        kind, depth, landscape = draw_landscape(generator, dimension)
        about, dynamics = draw_dynamics(generator, dimension, landscape)
        places = np.linalg.solve(np.asarray(dynamics.inverse_axes), landscape.places().T).T
        samples = sample_stationary(dynamics, DRAWS, seed=seed, starts=places)
        some = jnp.asarray(samples.states[:: len(samples) // 512])
        rates = np.abs(np.linalg.eigvals(np.asarray(_linearised(dynamics, some)))).max(axis=1)
    fastest = float(1 / np.quantile(rates, 0.9))
    step = float(np.exp(generator.uniform(*np.log(STEPS))))
    pairs = float(np.exp(generator.uniform(*np.log(PAIRS))))
    recording = str(generator.choice(list(RECORDINGS), p=list(RECORDINGS.values())))
    outside = bool(generator.random() < OUT_OF_PLACE)
    many, few = int(generator.integers(40, 400)), int(generator.integers(3, 11))
    alone = min(pairs, MOST_ALONE)
    if recording == "one path" and (depth > DEEPEST_ALONE or alone * step < LEAST_TIME_ALONE):
        recording = "paths"
    if recording == "one path":
        paths, frames, outside = 1, int(alone) + 1, False
    elif recording == "paths":
        paths, frames = many, max(3, int(pairs / many)) + 1
    else:
        paths, frames = int(pairs / (few - 1)), few
    about = {"dimension": dimension, "landscape": kind, "depth": depth, **about, "recording": recording}
    about |= {"starts": "elsewhere" if outside else "stationary", "step": step, "pairs": paths * (frames - 1)}
    about["draws"] = samples.result.code
    return RandomSystem(
        seed, dynamics, about, samples.chains, fastest, step * fastest, paths, frames, not outside
    )


@compiled
def _local(dynamics, states):
    return jax.lax.map(lambda z: local_entropy_production(dynamics, z), states, batch_size=4096)


@compiled
def _linearised(dynamics, states):
    return jax.vmap(jax.jacfwd(dynamics.drift))(states)
