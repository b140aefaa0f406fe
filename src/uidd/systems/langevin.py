"""Finely stepped paths of nonlinear systems, and sums over their stationary density in the plane."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import positive, whole_number
from .._programs import compiled
from ..data import Trajectories
from ..dynamics import AbstractDynamics
from ..thermodynamics import local_entropy_production

Box = tuple[tuple[float, float], tuple[float, float]]


def fine_paths(
    dynamics: AbstractDynamics,
    draw_starts: Callable[[np.random.Generator, int], np.ndarray],
    paths: int,
    frames: int,
    dt: float,
    *,
    largest_step: float,
    seed: int,
) -> Trajectories:
    """Paths by Heun's scheme in double precision, with at least 20 steps between two frames.

    Heun's scheme solves the Stratonovich form of the equation; where sigma is constant its moments are
    those of the process up to O(step^2), else up to O(step).

    Args:
        dynamics: V, sigma and W.
        draw_starts: From a generator and a number n, states `(n, D)`.
        paths: How many.
        frames: Frames a path, the start included.
        dt: The time between frames.
        largest_step: No step is longer than this, nor than dt / 20.
        seed: Of starts and noise.
    """
    whole_number("paths", paths)
    whole_number("frames", frames, least=2)
    starts = draw_starts(np.random.default_rng(whole_number("seed", seed, least=0)), paths)
    inner = max(20, int(np.ceil(positive("dt", dt) / largest_step - 1e-9)))
    with jax.enable_x64(True):
        states = _heun(
            dynamics, jnp.asarray(starts), frames - 1, inner, jnp.asarray(dt), jax.random.key(seed)
        )
        later = np.asarray(states).transpose(2, 0, 1)
    return Trajectories.from_arrays(np.concatenate([starts[:, None], later], axis=1), dt=dt)


@compiled
def _heun(dynamics, starts, frames: int, inner: int, dt, key):
    h = dt / inner

    def speed(z, kick):
        """The Stratonovich increment a(z) h + sigma(z) dB, a = f - (1/2) sum_jk sigma_jk d_j sigma_ik."""
        f, sigma = dynamics.drift_and_diffusion(z)
        correction = jnp.einsum("jk,ikj->i", sigma, jax.jacfwd(dynamics.diffusion)(z)) / 2
        return (f - correction) * h + sigma @ kick

    speeds = jax.vmap(speed, in_axes=-1, out_axes=-1)  # paths along the last axis: they are what is long

    def step(z, kick):
        first = speeds(z, kick)
        return z + (first + speeds(z + first, kick)) / 2, None

    def frame(z, frame_key):
        kicks = jnp.sqrt(h) * jax.random.normal(frame_key, (inner, *z.shape), z.dtype)
        z, _ = jax.lax.scan(step, z, kicks)
        return z, z

    return jax.lax.scan(frame, starts.T, jax.random.split(key, frames))[1]


def uniform_starts(box: Box) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Starts spread evenly over a box."""
    low, high = np.transpose(box)
    return lambda generator, count: generator.uniform(low, high, (count, 2))


def stationary_starts(
    dynamics: AbstractDynamics, box: Box
) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Draws from e^-V / Z: a cell of a fine grid by its weight, a place in it at random."""
    nodes, weights, cell = stationary_grid(dynamics, box)

    def draw(generator: np.random.Generator, count: int) -> np.ndarray:
        chosen = nodes[generator.choice(len(nodes), count, p=weights)]
        return chosen + generator.uniform(-cell / 2, cell / 2, (count, 2))

    return draw


def stationary_grid(
    dynamics: AbstractDynamics, box: Box, points: int = 400
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Midpoints of points x points cells, their weights under e^-V / Z, the size of a cell.

    Where e^-V vanishes at the edges with all its derivatives, the midpoint rule converges faster than
    any power of the cell's size.
    """
    low, high = np.transpose(box)
    cell = (high - low) / points
    axes = low[:, None] + cell[:, None] * (np.arange(points) + 0.5)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    with jax.enable_x64(True):
        V = np.asarray(jax.vmap(dynamics.potential)(jnp.asarray(nodes)))
    weights = np.exp(V.min() - V)
    return nodes, weights / weights.sum(), cell


def entropy_production_by_quadrature(dynamics: AbstractDynamics, box: Box, points: int = 400) -> float:
    """The mean of f_irr^T M^-1 f_irr over e^-V / Z."""
    nodes, weights, _ = stationary_grid(dynamics, box, points)
    with jax.enable_x64(True):
        local = compiled(jax.vmap(lambda z: local_entropy_production(dynamics, z)))(jnp.asarray(nodes))
    return float(weights @ np.asarray(local))
