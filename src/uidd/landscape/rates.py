"""How long it takes to get from one minimum to another."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail, whole_number
from .._programs import compiled
from .._types import Result
from ..dynamics import AbstractDynamics
from ..models import Ensemble, Model
from ..sampling.simulate import natural_step
from .records import Barrier
from .surface import Surface

WALKERS = 256
BLOCK = 500
# Of the step that simulations take: a fiftieth of the fastest relaxation at the two minima.
SHARE = 0.4
# A boundary that is looked at after every step alone lies, for what crosses it, so many of a step's standard
# deviations further away: -zeta(1/2) / sqrt(2 pi) (Siegmund 1979). The goal is made as much larger.
BETWEEN_STEPS = 0.5826


@dataclass(frozen=True)
class PassageTime:
    """The mean time of first passage from one minimum to another.

    Attributes:
        mean: Total simulated time over the number of passages; nan where there was none.
        standard_error: mean / sqrt(passages), as for waiting times without memory.
        passages: How many were seen.
        total_time: Simulated, over all walkers.
        eyring_kramers: The estimate for low noise, see `eyring_kramers_time`; nan without a barrier.
        result: `ok`; `few_passages` below twenty; `none`.
    """

    mean: float
    standard_error: float
    passages: int
    total_time: float
    eyring_kramers: float = float("nan")
    result: Result = field(default_factory=Result)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {**vars(self), "result": self.result.code, "message": self.result.message}

    def __str__(self) -> str:
        return f"{self.mean:.4g} +- {self.standard_error:.2g} ({self.passages:,} passages)"


def eyring_kramers_time(dynamics: AbstractDynamics, barrier: Barrier) -> float:
    """The mean time to cross a barrier, for barriers of several kT:

        tau = 2 pi / mu  sqrt(|det H_s| / det H_a)  e^(V_s - V_a),

    H_a and H_s the Hessians of V at minimum and saddle, mu the growth rate -- the one positive eigenvalue of
    -(M + W) H_s -- along the unstable direction of the saddle. In equilibrium this is the formula of
    Eyring and Kramers; with a circulation that leaves e^-V stationary only mu changes.
    """
    if barrier.saddle is None:
        return float("nan")
    with jax.enable_x64(True):
        top, bottom = (jnp.asarray(point.x) for point in (barrier.saddle, barrier.minimum_a))
        H_s, H_a = (np.asarray(jax.hessian(dynamics.potential)(z)) for z in (top, bottom))
        mobility = np.asarray(dynamics.dissipation(top) + dynamics.circulation(top))
    mu = np.linalg.eigvals(-mobility @ H_s).real.max()
    prefactor = np.sqrt(abs(np.linalg.det(H_s)) / np.linalg.det(H_a))
    return float(2 * np.pi / mu * prefactor * np.exp(barrier.height))


def passage_time(
    dynamics: Any, barrier: Barrier, *, passages: int = 400, most_steps: int = 200_000, seed: int = 0
) -> PassageTime:
    """The mean time from `barrier.minimum_a` until `barrier.minimum_b` is reached, by simulation.

    Many walkers start at the first minimum; one that comes within a thermal width sqrt(D) of the second has
    arrived, and starts again. Walks that have not arrived count with their time, so that the mean is right
    even where few do.

    Args:
        dynamics: A model, a known system's dynamics, an ensemble or a fit.
        barrier: Between the two minima.
        passages: After so many the simulation ends.
        most_steps: Or after so many steps of each of 256 walkers.
        seed: Of the noise.
    """
    dynamics = getattr(dynamics, "ensemble", dynamics)
    dynamics = dynamics.center if isinstance(dynamics, Ensemble) else dynamics
    if not isinstance(dynamics, AbstractDynamics):
        fail("dynamics", "a model or other dynamics", type(dynamics).__name__)
    whole_number("passages", passages)
    whole_number("most_steps", most_steps)
    start, goal = (_unit(dynamics, point.x) for point in (barrier.minimum_a, barrier.minimum_b))
    unit, time = (dynamics.unit, dynamics.scaling.time) if isinstance(dynamics, Model) else (dynamics, 1.0)
    h = SHARE * natural_step(unit, np.stack([start, goal]))
    widths = np.linalg.cholesky(_hessian(unit, goal)).T / len(goal) ** 0.5
    key = jax.random.key(whole_number("seed", seed, least=0))
    states, arrived, steps = jnp.tile(jnp.asarray(start, jnp.result_type(float)), (WALKERS, 1)), 0, 0
    setting = tuple(jnp.asarray(part, states.dtype) for part in (start, goal, widths, h))
    while steps < most_steps and arrived < passages:
        states, more = _walked(unit, states, setting, jax.random.fold_in(key, steps))
        arrived, steps = arrived + int(more), steps + BLOCK
    total = steps * h * WALKERS * time
    result = Result()
    if not arrived:
        result = Result("none", f"No walker arrived within a total time of {total:.3g}.")
    elif arrived < 20:
        result = Result("few_passages", f"Only {arrived} passages were seen.")
    mean = total / arrived if arrived else float("nan")
    return PassageTime(
        mean, mean / max(arrived, 1) ** 0.5, arrived, total, eyring_kramers_time(dynamics, barrier), result
    )


def _unit(dynamics: AbstractDynamics, x: np.ndarray) -> np.ndarray:
    return dynamics.scaling.to_unit(x) if isinstance(dynamics, Model) else np.asarray(x, np.float64)


def _hessian(dynamics: AbstractDynamics, z: np.ndarray) -> np.ndarray:
    surface = Surface(dynamics.potential, np.zeros(len(z)), np.ones(len(z)))
    return surface.local(z[None]).hessian[0]


@compiled
def _walked(dynamics, states, setting, key):
    """A block of Euler steps; those that arrive begin anew."""
    start, goal, widths, h = setting

    def step(k, carry):
        states, arrived = carry
        noise = jax.random.normal(jax.random.fold_in(key, k), states.shape)
        f, sigma = jax.vmap(dynamics.drift_and_diffusion)(states)
        states = states + h * f + jnp.sqrt(h) * jnp.einsum("nij,nj->ni", sigma, noise)
        apart = (states - goal) @ widths.T
        distance = jnp.linalg.norm(apart, axis=1)
        # The noise of a step along the line to the goal, in thermal widths.
        kick = jnp.sqrt(h) * jnp.linalg.norm(jnp.einsum("ni,ij,njk->nk", apart, widths, sigma), axis=1)
        there = distance**2 < distance + BETWEEN_STEPS * kick
        return jnp.where(there[:, None], start, states), arrived + there.sum()

    return jax.lax.fori_loop(0, BLOCK, step, (states, jnp.zeros((), int)))
