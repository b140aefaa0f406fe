"""Do the defaults hold on systems that they were not chosen on?

Rings, walls, chains, heavy tails, noise that varies, many dimensions, little data, equilibrium: V, sigma and
W in closed form, some 200,000 pairs. The exact rate is a mean over 2,000 finely stepped paths. One line a
system: the rate, what is exact, their distance in standard errors, and what the data called for.

    python benchmarks/further_systems.py ring-2 chain-6 --seed 1
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import uidd
from uidd.dynamics import ClosedFormDynamics
from uidd.systems.langevin import fine_paths
from uidd.thermodynamics import local_entropy_production


@dataclass(frozen=True)
class Recorded:
    """A system, and how it is recorded."""

    dimension: int
    potential: Callable
    diffusion: Callable
    circulation: Callable
    dt: float = 0.02
    paths: int = 200
    frames: int = 1001
    largest_step: float = 2e-3

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V, sigma and W together."""
        return ClosedFormDynamics(self.potential, self.diffusion, self.circulation)


def constant(dimension: int, size: float) -> Callable:
    """sigma = size times the unit matrix."""
    return lambda z: size * jnp.eye(dimension, dtype=z.dtype)


def currents(entries: Callable) -> Callable:
    """W from the entries above its diagonal, ((i, j), W_ij)."""

    def W(z):
        upper = jnp.zeros((len(z), len(z)), z.dtype)
        for place, value in entries(z):
            upper = upper.at[place].set(value)
        return upper - upper.T

    return W


def wells(z):
    """Three wells of different depth and width in the plane."""
    centers = jnp.asarray([[-1.5, 0.0], [1.5, 0.3], [0.2, 2.0]], z.dtype)
    weights, widths = jnp.asarray([1.0, 0.7, 0.5], z.dtype), jnp.asarray([0.4, 0.5, 0.35], z.dtype)
    squares = jnp.sum((z - centers) ** 2, axis=-1)
    return -jax.nn.logsumexp(jnp.log(weights / widths) - squares / (2 * widths))


def chain(z):
    """Quartic wells, neighbours coupled by springs."""
    return jnp.sum(z**4) / 4 + jnp.sum((z[1:] - z[:-1]) ** 2) / 2


def ring(z):
    """A circular valley."""
    return 3 * (z @ z - 1) ** 2


def _chain(dimension: int, potential: Callable = chain) -> Recorded:
    W = currents(lambda z: [((i, i + 1), 0.5) for i in range(dimension - 1)])
    return Recorded(dimension, potential, constant(dimension, 1.2), W, dt=0.05, largest_step=2.5e-3)


TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 6)))[0]
AROUND = currents(lambda z: [((0, 1), 1.0)])
STILL = currents(lambda z: [((0, 1), 0.0)])
SYSTEMS = {
    "ring-2": Recorded(2, ring, constant(2, 1.0), AROUND, largest_step=1e-3),
    "ring-2, 5,000 pairs": Recorded(
        2, ring, constant(2, 1.0), AROUND, paths=1, frames=5001, largest_step=1e-3
    ),
    "ring-3": Recorded(
        3,
        lambda z: 6 * (jnp.sqrt(z[0] ** 2 + z[1] ** 2 + 0.01) - 1.5) ** 2 + 2 * z[2] ** 2,
        constant(3, 1.0),
        currents(lambda z: [((0, 1), 0.6 + 0.3 * jnp.tanh(z[2])), ((1, 2), 0.3 * z[0] / (1 + z[0] ** 2))]),
        largest_step=1e-3,
    ),
    "wells-2": Recorded(
        2, wells, constant(2, 0.7), currents(lambda z: [((0, 1), 0.5 * jnp.exp(-z @ z / 4))])
    ),
    "wells-2 at rest, 5,000 pairs": Recorded(2, wells, constant(2, 0.7), STILL, paths=1, frames=5001),
    "wells-3 at rest": Recorded(
        3, lambda z: wells(z[:2]) + (z[2] - z[0] / 2) ** 2 + z[2] ** 4 / 8, constant(3, 0.8), STILL
    ),
    "valley-2": Recorded(
        2,
        lambda z: z[0] ** 4 / 4 + (z[1] - z[0] ** 2) ** 2,
        constant(2, 1.0),
        currents(lambda z: [((0, 1), 0.5 + 0.3 * z[0])]),
        largest_step=1e-3,
    ),
    "coarse-2": Recorded(
        2,
        lambda z: 2 * (z[0] ** 2 - 1) ** 2 + z[1] ** 2,
        constant(2, 1.0),
        currents(lambda z: [((0, 1), 0.8)]),
        dt=0.15,
    ),
    "noise-3": Recorded(
        3,
        lambda z: (z[0] ** 2 - 1) ** 2 + (z[1] - z[0] / 2) ** 2 + z[2] ** 2 + z[2] ** 4 / 4,
        lambda z: jnp.diag(
            jnp.stack([1 + 0.5 * jnp.tanh(z[1]), 1 + 0.4 * jnp.sin(z[0]), 0.8 + 0.3 / (1 + z[0] ** 2)])
        ),
        currents(lambda z: [((0, 1), 0.4), ((1, 2), 0.3 + 0.2 * jnp.tanh(z[0]))]),
        largest_step=1e-3,
    ),
    "noise-5": Recorded(
        5,
        lambda z: z @ z / 2 + z[1:] @ z[:-1] / 4 + z[0] ** 4 / 8,
        lambda z: jnp.diag(1 + 0.4 * jnp.tanh(jnp.roll(z, 1))),
        currents(lambda z: [((i, i + 1), 0.6) for i in range(4)]),
        largest_step=1e-3,
    ),
    "heavy-3": Recorded(
        3,
        lambda z: 4.5 * jnp.log1p(z @ z / 6),
        constant(3, 1.0),
        currents(lambda z: [((0, 1), 0.8), ((0, 2), 0.4)]),
        dt=0.05,
    ),
    "chain-4": _chain(4),
    "chain-6": _chain(6),
    "chain-6 turned": _chain(6, lambda z: chain(jnp.asarray(TURN, z.dtype) @ z)),
    "chain-12": _chain(12),
}


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.systems:
        system, seed = SYSTEMS[name], options.seed
        step = {"largest_step": system.largest_step}
        early = lambda generator, count: generator.standard_normal((count, system.dimension))  # noqa: B023, E731
        settled = fine_paths(system.dynamics, early, 2000, 2, 20.0, seed=1000 + seed, **step)
        late = np.stack([states[-1] for states in settled.states])
        starts = lambda _, count: late[:count]  # noqa: B023, E731
        long = fine_paths(system.dynamics, starts, 2000, 101, 0.5, seed=2000 + seed, **step)
        with jax.enable_x64(True):
            local = jax.jit(jax.vmap(lambda z: local_entropy_production(system.dynamics, z)))  # noqa: B023
            means = np.asarray(local(jnp.asarray(np.concatenate(long.states)))).reshape(2000, -1).mean(axis=1)
        exact, uncertain = means.mean(), means.std() / len(means) ** 0.5
        data = fine_paths(system.dynamics, starts, system.paths, system.frames, system.dt, seed=seed, **step)
        fit = uidd.fit(data, seed=0, progress=False)
        found = uidd.entropy_production(fit)
        off = (found.rate - exact) / np.hypot(found.standard_error, uncertain)
        called = ", ".join(test.what for test in fit.tests if test.called_for) or "nothing"
        print(
            f"{name}: EPR {found}, exact {exact:.4g} +- {uncertain:.2g}, {off:+.1f} standard errors; "
            f"called for: {called}; {fit.result}, {found.result.code}, {fit.seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
