"""What `simulate` of the nonlinear systems draws: moments of a step, heat along paths, stationarity."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.dynamics import AbstractDynamics
from uidd.systems import SYSTEMS, DoubleWell, DrivenWells, Metastable, MullerBrown, VaryingNoise, system
from uidd.systems.driven_wells import stationary_states
from uidd.systems.langevin import fine_paths, stationary_starts
from uidd.systems.metastable import stationary_solution

SIZES = {
    "linear": (10_000, 101, 0.01),
    "beads-2": (100, 5001, 0.1),
    "beads-5": (100, 5001, 0.1),
    "trap": (1, 320_000, 0.01),
    "double-well": (400, 1000, 0.02),
    "driven-wells": (200, 1000, 0.01),
    "metastable": (2000, 21, 0.05),
    "muller-brown": (1, 15_001, 0.01),
    "gyrator": (100, 5001, 0.1),
    "varying-noise": (400, 1000, 0.02),
}
NONLINEAR = [DoubleWell(), DrivenWells(), Metastable(), MullerBrown(), VaryingNoise()]
nonlinear = pytest.mark.parametrize("known", NONLINEAR, ids=repr)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_offers_the_same(name):
    known = system(name)
    assert isinstance(known.dynamics, AbstractDynamics)
    assert known.dynamics == system(name).dynamics  # equal, so that one compiled program serves both
    defaults = inspect.signature(known.simulate).parameters
    assert tuple(defaults[k].default for k in ("paths", "frames", "dt")) == SIZES[name]
    data = known.simulate(3, 4, 0.01, seed=1)
    assert (len(data), data.pair_count, data.dimension) == (
        3,
        9,
        {"beads-5": 5, "driven-wells": 3}.get(name, 2),
    )
    assert np.allclose(data.times[0], [0, 0.01, 0.02, 0.03])
    again, other = known.simulate(3, 4, 0.01, seed=1), known.simulate(3, 4, 0.01, seed=2)
    assert np.array_equal(data.states, again.states)
    assert not np.allclose(data.states, other.states)


def evaluated(known):
    """(n, D) -> drift and sigma, in double precision."""
    mapped = jax.jit(jax.vmap(known.dynamics.drift_and_diffusion))

    def evaluate(z):
        with jax.enable_x64(True):
            return tuple(map(np.asarray, mapped(jnp.asarray(z))))

    return evaluate


def solve(sigma, vectors):
    return np.linalg.solve(sigma, vectors[..., None])[..., 0]


@pytest.mark.slow
@nonlinear
def test_a_step_has_the_moments_of_the_process(known):
    """E[z(dt)] = z + f dt + (f . grad f + M : grad grad f) dt^2 / 2 + O(dt^3).

    The coefficient of f dt in the whitened increments is 1, to a standard error (sum |sigma^-1 f|^2 dt)^-1/2.
    Over a hundred times shorter a step the covariance of what is left is the identity.
    """
    evaluate, dt, e = evaluated(known), 0.002, 1e-4
    start, end = np.stack(known.simulate(20_000, 2, dt, seed=3).states).swapaxes(0, 1)
    f, sigma = evaluate(start)
    second = (evaluate(start + e * f)[0] - evaluate(start - e * f)[0]) / (2 * e)
    for k in range(f.shape[1]):
        kick = e * sigma[:, :, k]
        second += (evaluate(start + kick)[0] - 2 * f + evaluate(start - kick)[0]) / (2 * e**2)
    white = solve(sigma, end - start - second * dt**2 / 2) / dt**0.5
    regressor = solve(sigma, f) * dt**0.5
    information = (regressor**2).sum()
    assert abs((white * regressor).sum() / information - 1) < 5 * information**-0.5
    residual = white - regressor
    assert (np.abs(residual.mean(axis=0)) < 5 * residual.std(axis=0) / len(residual) ** 0.5).all()

    start, end = np.stack(known.simulate(20_000, 2, dt / 100, seed=4).states).swapaxes(0, 1)
    f, sigma = evaluate(start)
    white = solve(sigma, end - start - f * dt / 100) / (dt / 100) ** 0.5
    products = np.einsum("ni,nj->nij", white, white)
    assert (
        np.abs(products.mean(axis=0) - np.eye(f.shape[1])) < 5 * products.std(axis=0) / len(white) ** 0.5
    ).all()


def stationary(known):
    """Draws from the truth."""
    if isinstance(known, DrivenWells):
        return stationary_states
    if not isinstance(known, Metastable):
        box = ((-0.5, 3.5), (-2, 5)) if isinstance(known, DoubleWell) else ((-4, 3), (-6, 6))
        return stationary_starts(known.dynamics, box)
    solution = stationary_solution()
    x, y = (centres.ravel() for centres in np.meshgrid(*solution.centres, indexing="ij"))

    def draw(generator, count):
        chosen = generator.choice(x.size, count, p=solution.probability.ravel())
        return np.stack([x[chosen], y[chosen]], axis=-1)

    return draw


@pytest.mark.slow
@nonlinear
def test_heat_and_stationarity_along_paths(known):
    """The rate is the mean of M^-1 (f - div M) o dz per time, the heat over T, which knows nothing of W.

    By the trapezoidal rule its error is O(dt^2). The means of z, z^2 and V do not change in time.
    """
    dynamics, frames, count = known.dynamics, 101, 500
    dt = 0.002 if isinstance(known, DrivenWells | MullerBrown) else 0.01
    data = fine_paths(dynamics, stationary(known), count, frames, dt, largest_step=dt / 20, seed=5)
    paths = np.stack(data.states)

    def force(z):
        return jnp.linalg.solve(
            dynamics.dissipation(z), dynamics.drift(z) - dynamics.dissipation_divergence(z)
        )

    with jax.enable_x64(True):
        F = np.asarray(jax.jit(jax.vmap(jax.vmap(force)))(jnp.asarray(paths)))
        V = np.asarray(jax.jit(jax.vmap(jax.vmap(dynamics.potential)))(jnp.asarray(paths[:, [0, -1]])))
    heat = ((F[:, 1:] + F[:, :-1]) / 2 * np.diff(paths, axis=1)).sum(axis=(1, 2))
    # Plus the change of V, whose mean is zero: the reversible part of the spread goes.
    rate = (heat + np.diff(V, axis=1)[:, 0]) / (dt * (frames - 1))
    assert abs(rate.mean() - known.entropy_production_rate) < 5 * rate.std() / count**0.5
    ends = paths[:, [0, -1]]
    for watched in (ends[..., 0], ends[..., 1], ends[..., 0] ** 2, ends[..., 1] ** 2, V):
        change = watched[:, 1] - watched[:, 0]
        assert abs(change.mean()) < 5 * change.std() / count**0.5
