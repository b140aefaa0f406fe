"""New trajectories of given dynamics."""

from dataclasses import dataclass, field, replace
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail, numbers, positive, whole_number
from .._programs import compiled
from .._types import Result
from ..data import Trajectories
from ..dynamics import AbstractEquation
from ..models import Model


@dataclass(frozen=True)
class Simulation:
    """Simulated paths: `states` of shape (n, t, D), or (t, D) for a single start. Reads as an array."""

    states: np.ndarray
    times: np.ndarray
    step: float
    result: Result = field(default_factory=Result)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.states, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `states`."""
        return self.states.shape

    def __repr__(self) -> str:
        return f"Simulation(shape {self.shape}, step {self.step:.3g}, {self.result})"

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.states[index]

    def to_trajectories(self) -> Trajectories:
        """As data to learn from; paths that left the finite numbers are cut there."""
        finite = np.where(np.isfinite(self.states), self.states, np.nan)
        return Trajectories.from_arrays(finite, times=self.times)


def simulate(
    dynamics: AbstractEquation,
    x0: Any,
    times: Any,
    *,
    seed: int,
    solver: diffrax.AbstractSolver | None = None,
    step: float | None = None,
) -> Simulation:
    """Paths from the starts `x0` at the given times.

    Args:
        dynamics: A learned model or a known system.
        x0: One start `(D,)` or several `(n, D)`.
        times: Increasing times; the paths start at the first one.
        seed: Of the noise.
        solver: Any Diffrax solver for SDEs. Ito solvers (`Euler`, the default) get the Ito drift;
            Stratonovich solvers (`Heun`, `EulerHeun`, `ShARK` for constant sigma, ...) get the drift
            with the Stratonovich correction, so that all of them solve the same equation.
        step: The largest internal step; by default a twentieth of the shortest relaxation time met at
            the starts, and never more than the shortest output interval.
    """
    if not isinstance(dynamics, AbstractEquation):
        fail("dynamics", "a model or another equation", type(dynamics).__name__)
    whole_number("seed", seed, least=0)
    wanted_times, wanted_starts = "at least two increasing finite times", "finite, of shape (D,) or (n, D)"
    grid = numbers("times", times, wanted_times)
    starts = np.atleast_2d(numbers("x0", x0, wanted_starts))
    if grid.ndim != 1 or len(grid) < 2 or not np.isfinite(grid).all() or not (np.diff(grid) > 0).all():
        fail("times", wanted_times, f"an array of shape {grid.shape}")
    if starts.ndim != 2 or not starts.size or not np.isfinite(starts).all():
        fail("x0", wanted_starts, f"shape {np.shape(x0)}")
    if isinstance(dynamics, Model) and starts.shape[1] != dynamics.dimension:
        fail("x0", f"states of {dynamics.dimension} coordinates, as the model's", f"shape {np.shape(x0)}")
    if isinstance(dynamics, Model):
        # In unit-size coordinates no digit is lost to offsets, and models share compiled programs.
        scaling = dynamics.scaling
        start = scaling.to_unit(np.asarray(x0, np.float64))
        inner = None if step is None else positive("step", step) / scaling.time
        unit = simulate(dynamics.unit, start, grid / scaling.time, seed=seed, solver=solver, step=inner)
        return replace(unit, states=scaling.to_user(unit.states), times=grid, step=unit.step * scaling.time)
    solver = diffrax.Euler() if solver is None else solver
    largest = natural_step(dynamics, starts) if step is None else positive("step", step)
    fine = _refined(grid, largest)
    # Time is counted in steps: whole numbers, which single precision holds exactly.
    unit_of_time = float(np.diff(fine).min())
    paths = _solve(
        dynamics,
        solver,
        jnp.asarray(starts),
        jnp.asarray((grid - grid[0]) / unit_of_time),
        jnp.asarray((fine - grid[0]) / unit_of_time),
        jnp.asarray(unit_of_time),
        jax.random.key(seed),
    )
    states = np.asarray(paths, np.float64)
    states[:, 0] = starts
    bad = int((~np.isfinite(states).all(axis=(1, 2))).sum())
    result = Result()
    if bad:
        result = Result(
            "diverged", f"{bad} of {len(states)} paths left the finite numbers; use a smaller step."
        )
    used = float(np.diff(fine).max())
    return Simulation(states[0] if np.ndim(x0) == 1 else states, grid, used, result)


def natural_step(dynamics: AbstractEquation, starts: np.ndarray) -> float:
    """A twentieth of the shortest time scale 1 / |eigenvalue of the drift's Jacobian| at the starts."""
    some = jnp.asarray(starts[:: max(1, len(starts) // 64)])
    jacobians = np.asarray(_drift_jacobians(dynamics, some))
    if not np.isfinite(jacobians).all():
        fail("x0", "states at which the drift is finite", "one where it is not")
    rate = np.abs(np.linalg.eigvals(jacobians)).max()
    return 0.05 / float(rate) if rate > 0 else np.inf


@compiled
def _drift_jacobians(dynamics: AbstractEquation, states: jax.Array) -> jax.Array:
    return jax.vmap(jax.jacfwd(dynamics.drift))(states)


def _refined(grid: np.ndarray, largest: float) -> np.ndarray:
    """`grid` with every interval cut into equal steps of at most `largest`."""
    counts = np.maximum(1, np.ceil(np.diff(grid) / largest - 1e-9)).astype(int)
    pieces = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(grid[:-1], grid[1:], counts, strict=True)]
    return np.concatenate([*pieces, grid[-1:]])


@compiled
def _solve(dynamics, solver, starts, grid, fine, unit_of_time, key):
    """All paths by one mapped solve over a fixed grid of steps."""
    stratonovich = isinstance(solver, diffrax.AbstractStratonovichSolver)
    levy_area = (
        diffrax.SpaceTimeLevyArea if isinstance(solver, diffrax.AbstractSRK) else diffrax.BrownianIncrement
    )

    def drift(t, z, args):
        f = dynamics.drift(z)
        return unit_of_time * (f - _ito_correction(dynamics, z) if stratonovich else f)

    def diffusion(t, z, args):
        return jnp.sqrt(unit_of_time) * dynamics.diffusion(z)

    def one(z, path_key):
        noise = diffrax.UnsafeBrownianPath(shape=z.shape, key=path_key, levy_area=levy_area)
        terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, noise))
        solution = diffrax.diffeqsolve(
            terms,
            solver,
            t0=grid[0],
            t1=grid[-1],
            dt0=None,
            y0=z,
            saveat=diffrax.SaveAt(ts=grid),
            stepsize_controller=diffrax.StepTo(ts=fine),
            adjoint=diffrax.ForwardMode(),
            max_steps=len(fine),
            throw=False,
        )
        return solution.ys

    return jax.vmap(one)(starts, jax.random.split(key, len(starts)))


def _ito_correction(dynamics, z):
    """(1/2) sum_jk sigma_jk d_j sigma_ik: Ito drift minus Stratonovich drift."""
    sigma = dynamics.diffusion(z)
    columns = jax.vmap(lambda k: jax.jvp(lambda y: dynamics.diffusion(y)[:, k], (z,), (sigma[:, k],))[1])(
        jnp.arange(len(z))
    )
    return columns.sum(axis=0) / 2
