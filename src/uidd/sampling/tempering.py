"""Populations of particles, carried from a density that covers the data to e^-V.

Chains do not cross high barriers, so wells would be weighted by where chains start. Particles that are
reweighted along q0^(1-b) e^(-b V), from a q0 that covers all wells, weight them by e^-V itself
(sequential Monte Carlo, Del Moral et al. 2006).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._programs import compiled
from .._traced import portable
from ..dynamics import AbstractDynamics

PARTICLES = 512
# Around this many starts q0 is as wide as V's curvature says, times the second number: no start is a minimum.
CENTERS = 16
WIDENING = 1.5
STEPS = 10
# The share of particles that stays effective from one temperature to the next.
EFFECTIVE_SHARE = 0.5
MOST_TEMPERATURES = 300
# The acceptance rate at which Metropolis-adjusted Langevin steps move fastest.
TARGET_ACCEPTANCE = 0.574


class Reference(NamedTuple):
    """q0, in coordinates x with z = origin + axes @ x: a mixture of Gaussians with diagonal covariances."""

    origin: np.ndarray
    axes: np.ndarray
    means: np.ndarray
    widths: np.ndarray
    weights: np.ndarray


@portable
class Population(NamedTuple):
    """Particles x of shape (n, D), with V, U = -log q0 and their gradients with respect to x."""

    x: jax.Array
    V: jax.Array
    dV: jax.Array
    U: jax.Array
    dU: jax.Array


class Kernel(NamedTuple):
    """How particles move: under q0^(1-b) e^(-b V), whitened by `factor`."""

    b: jax.Array
    factor: jax.Array
    step: jax.Array

    @classmethod
    def of(cls, *values: Any) -> "Kernel":
        """Of one type, so that NumPy's and Python's numbers share one compiled program."""
        return cls(*(jnp.asarray(value, float) for value in values))


def covering(dynamics: AbstractDynamics, pool: np.ndarray) -> Reference:
    """A density that covers the states, and every well in which one of them lies.

    Half of it is a broad Gaussian along their principal axes, 1.5 standard deviations to the outermost state.
    The other half are narrow ones around states far from each other, as wide as V is there.
    """
    origin, spread = pool.mean(axis=0), pool.std(axis=0)
    spread = _coarse(np.where(spread > 0, spread, 1.0))
    y = (pool - origin) / spread
    directions = np.linalg.eigh(y.T @ y)[1]
    low, high = (y @ directions).min(axis=0), (y @ directions).max(axis=0)
    extent = np.maximum((high - low) / 3, 0.1 if len(pool) > 1 else 1.0)
    origin = spread * np.round(origin / spread + directions @ (low + high) / 2, 3)
    axes = _coarse(spread[:, None] * directions * extent)
    means = _coarse(_far_apart(np.linalg.solve(axes, (pool - origin).T).T, CENTERS))
    broad = np.zeros((1, len(origin)))
    return Reference(
        origin,
        axes,
        np.concatenate([broad, means]),
        np.concatenate([broad + 1, _widths(dynamics, origin, axes, means)]),
        np.append(0.5, np.full(CENTERS, 0.5 / CENTERS)),
    )


def _far_apart(states: np.ndarray, count: int) -> np.ndarray:
    """The first state, then always the one farthest from those already chosen."""
    chosen, distance = [0], np.full(len(states), np.inf)
    for _ in range(count - 1):
        distance = np.minimum(distance, ((states - states[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return states[chosen]


def _widths(dynamics: AbstractDynamics, origin: np.ndarray, axes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(d^2 V / dx_j^2)^(-1/2) at the states x, at most the broad Gaussian's width, and a little more."""
    shifts = 0.01 * np.stack([np.eye(len(origin)), -np.eye(len(origin))])
    shifted = (x[:, None, None] + shifts).reshape(-1, len(origin))
    dV = np.asarray(_potential(dynamics, origin, axes, jnp.asarray(shifted))[1], np.float64)
    dV = dV.reshape(len(x), 2, len(origin), len(origin))
    curvature = np.einsum("kjj->kj", dV[:, 0] - dV[:, 1]) / 0.02
    return np.clip(np.nan_to_num(curvature, nan=1.0), 1.0, 1e4) ** -0.5 * WIDENING


def _coarse(a: np.ndarray) -> np.ndarray:
    """Twelve bits: the same states, once seen in other units, give the same reference to the last bit."""
    mantissa, exponent = np.frexp(a)
    return np.ldexp(np.round(4096 * mantissa) / 4096, exponent)


def temper(
    dynamics: AbstractDynamics, reference: Reference, replicates: int, *, key: jax.Array
) -> tuple[Population, Kernel]:
    """Independent populations under e^-V, `PARTICLES` behind each other a replicate, and how they move.

    The next temperature is where half of the particles would stay effective in the worst replicate. Each
    replicate is resampled by itself; temperatures and steps, which change no weight, are common.
    """
    key, host_key = jax.random.split(key)
    generator = np.random.default_rng(np.asarray(jax.random.key_data(host_key)))
    n, dimension = replicates * PARTICLES, len(reference.origin)
    part = generator.choice(len(reference.weights), n, p=reference.weights)
    x = reference.means[part] + reference.widths[part] * generator.standard_normal((n, dimension))
    population = evaluate(dynamics, reference, jnp.asarray(x))
    # The optimal step for a Gaussian (Roberts and Rosenthal, 1998); what comes differs little at a time.
    b, step, factor = 0.0, 1.36 * dimension ** (-1 / 3), np.eye(dimension)
    for stage in range(MOST_TEMPERATURES):
        work = _excess(population).reshape(replicates, PARTICLES)
        if b == 1 or not np.isfinite(work).any(axis=1).all():
            break
        increment = _increment(work, 1 - b) if stage < MOST_TEMPERATURES - 1 else 1 - b
        b = min(b + increment, 1.0)
        ancestors = _resampled(_weights(work, increment), generator.random((replicates, 1)))
        population = Population(*(jnp.asarray(np.asarray(a)[ancestors]) for a in population))
        factor = _whitening(population, b)
        stage_key = jax.random.fold_in(key, stage)
        population, rate = move(dynamics, reference, population, Kernel.of(b, factor, step), stage_key)
        step *= np.exp(2 * (float(rate) - TARGET_ACCEPTANCE))
    return population, Kernel.of(b, factor, step)


def _excess(population: Population) -> np.ndarray:
    """V - U; infinite where V is not a number."""
    V, U = np.asarray(population.V, np.float64), np.asarray(population.U, np.float64)
    return np.where(np.isfinite(V), V, np.inf) - U


def _weights(work: np.ndarray, increment: float) -> np.ndarray:
    return np.exp(-increment * (work - work.min(axis=1, keepdims=True)))


def _increment(work: np.ndarray, rest: float) -> float:
    """The largest step in b, at most `rest`, that leaves the wanted share effective in every replicate."""
    wanted = EFFECTIVE_SHARE * np.isfinite(work).sum(axis=1)

    def allowed(increment):
        w = _weights(work, increment)
        return (w.sum(axis=1) ** 2 >= wanted * (w**2).sum(axis=1)).all()

    if allowed(rest):
        return rest
    low, high = np.log(1e-12), np.log(rest)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(np.exp(middle)) else (low, middle)
    return float(np.exp(low))


def _resampled(weights: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Systematic resampling within each row; descendants stay neighbours. Indices into the flat array."""
    replicates, n = weights.shape
    row = np.arange(replicates)[:, None]
    cumulative = np.cumsum(weights, axis=1)
    points = (np.arange(n) + offset) / n
    return np.searchsorted((cumulative / cumulative[:, -1:] + row).ravel(), (points + row).ravel())


def _whitening(population: Population, b: float) -> np.ndarray:
    """L with L L^T = E[g g^T]^-1, g the gradient of -log density: the best one for Langevin steps.

    For a Gaussian this is the covariance; with several wells it is their width, not their distance
    (Titsias, 2023).
    """
    g = b * np.asarray(population.dV, np.float64) + (1 - b) * np.asarray(population.dU, np.float64)
    g = np.nan_to_num(g, posinf=0.0, neginf=0.0)
    F = g.T @ g / len(g)
    ridge = 1e-6 * np.trace(F) / len(F) + 1e-12
    return np.linalg.inv(np.linalg.cholesky(F + ridge * np.eye(len(F)))).T


@compiled
def evaluate(dynamics: AbstractDynamics, reference: Reference, x: jax.Array) -> Population:
    """The population of the particles x."""
    origin, axes, means, widths, weights = map(jnp.asarray, reference)
    # Squares are multiplied out, so that the distances to all means are products of matrices.
    P = widths**-2
    heights = jnp.log(weights) + jnp.log(P).sum(axis=1) / 2 - (means**2 * P).sum(axis=1) / 2
    heights = heights + x @ (means * P).T - x**2 @ P.T / 2
    share = jax.nn.softmax(heights)
    U, dU = -jax.nn.logsumexp(heights, axis=1), x * (share @ P) - share @ (means * P)
    return Population(x, *_potential(dynamics, origin, axes, x), U, dU)


@compiled
def _potential(dynamics, origin, axes, x):
    return jax.vmap(jax.value_and_grad(lambda x: dynamics.potential(origin + axes @ x)))(x)


@compiled
def move(
    dynamics: AbstractDynamics, reference: Reference, population: Population, kernel: Kernel, key: jax.Array
) -> tuple[Population, jax.Array]:
    """The particles after `STEPS` Metropolis-adjusted Langevin steps, and their acceptance rate."""
    b, L, h = kernel

    def energy(p):
        return b * p.V + (1 - b) * p.U

    def whitened_force(p):
        return -(b * p.dV + (1 - b) * p.dU) @ L

    def one(p, step_key):
        noise_key, accept_key = jax.random.split(step_key)
        noise = jax.random.normal(noise_key, p.x.shape)
        new = evaluate(dynamics, reference, p.x + (h * whitened_force(p) + jnp.sqrt(2 * h) * noise) @ L.T)
        # The noise that would lead back, up to its sign: no inverse of L is needed.
        backward = noise + jnp.sqrt(h / 2) * (whitened_force(p) + whitened_force(new))
        log_ratio = energy(p) - energy(new) + jnp.sum(noise**2 - backward**2, axis=1) / 2
        rate = jnp.nan_to_num(jnp.exp(jnp.minimum(log_ratio, 0.0)))
        accepted = jax.random.uniform(accept_key, rate.shape) < rate
        chosen = [
            jnp.where(accepted.reshape(-1, *[1] * (a.ndim - 1)), a, o) for a, o in zip(new, p, strict=True)
        ]
        return Population(*chosen), rate.mean()

    population, rates = jax.lax.scan(one, population, jax.random.split(key, STEPS))
    return population, rates.mean()
