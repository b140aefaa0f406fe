"""Draws from e^-V itself, with what is needed to judge them."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from .._checks import fail, numbers, whole_number
from .._types import Result
from ..dynamics import AbstractDynamics
from ..models import Model
from .diagnostics import effective_sample_size, r_hat
from .reach import Reach
from .tempering import PARTICLES, covering, move, temper

R_HAT_LIMIT = 1.05


@dataclass(frozen=True)
class StationarySamples:
    """Draws from e^-V / Z with what is needed to judge them. Reads as an array `(n, D)`.

    Attributes:
        chains: The draws, of shape `(chains, draws, D)`. A chain is a population of particles that knows
            nothing of the others, so that the spread of the chains' means is the error of an average,
            the share of separate wells included.
        r_hat: R-hat between the populations, the largest over the coordinates and V.
        effective_sample_size: The smallest over the coordinates and V.
        acceptance: The mean acceptance rate.
        result: `ok`, or `not_mixed` when populations disagree: then their mean means little.
    """

    chains: np.ndarray
    r_hat: float
    effective_sample_size: float
    acceptance: float
    result: Result

    @property
    def states(self) -> np.ndarray:
        """All draws, `(n, D)`."""
        return self.chains.reshape(-1, self.chains.shape[-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.states, dtype)

    def __repr__(self) -> str:
        chains, draws, dimension = self.chains.shape
        return (
            f"StationarySamples({chains} chains x {draws} draws, D={dimension}, R-hat {self.r_hat:.4f}, "
            f"effective {self.effective_sample_size:.0f}, {self.result})"
        )

    def __len__(self) -> int:
        return self.chains.shape[0] * self.chains.shape[1]


def sample_stationary(
    dynamics: AbstractDynamics,
    count: int = 4000,
    *,
    seed: int,
    starts: Any = None,
    chains: int = 16,
    within: Any = None,
) -> StationarySamples:
    """About `count` draws from e^-V / Z.

    An average over an Euler path of the dynamics is biased by its step; Metropolis-corrected steps are
    not. Chains do not cross high barriers; so independent populations of particles are carried to
    e^-V from a density that covers the starts, which weights separate wells by e^-V itself. From there every
    particle moves on until there are enough draws.

    Args:
        dynamics: A learned model, or any dynamics when `starts` are given.
        count: How many draws, rounded up to a multiple of `chains`.
        seed: Of the populations.
        starts: States `(n, D)`, some of them in or around every well; a model's anchors by default.
        chains: How many independent populations.
        within: Recorded states `(n, D)`, for a learned model: draws stay as near to some of them as the
            others are. Beyond, V is a guess, and may have wells that do not exist.
    """
    if not isinstance(dynamics, AbstractDynamics):
        fail("dynamics", "a model or other dynamics", type(dynamics).__name__)
    whole_number("count", count)
    whole_number("seed", seed, least=0)
    whole_number("chains", chains, least=4)
    pool = _starting_pool(dynamics, starts)
    if isinstance(dynamics, Model):
        # In unit-size coordinates all models of one architecture share one compiled program.
        inner = dynamics.unit
        if within is not None:
            recorded = numbers("within", within, "finite states of shape (n, D)")
            inner = Reach.of(dynamics.scaling.to_unit(recorded)).walled(inner)
        unit = sample_stationary(
            inner, count, seed=seed, starts=dynamics.scaling.to_unit(pool), chains=chains
        )
        return replace(unit, chains=dynamics.scaling.to_user(unit.chains))
    if within is not None:
        fail("within", "left out for dynamics that were not learned", "states")
    reference, draws = covering(dynamics, pool), -(-count // chains)
    temper_key, draw_key = jax.random.split(jax.random.key(seed))
    population, kernel = temper(dynamics, reference, chains, key=temper_key)
    rounds, rates = [], []
    for key in jax.random.split(draw_key, -(-draws // PARTICLES)):
        population, rate = move(dynamics, reference, population, kernel, key)
        rounds.append(np.concatenate([population.x, np.asarray(population.V)[:, None]], axis=1))
        rates.append(float(rate))
    # The draws of one particle behind each other, and relatives next to each other: what is correlated is
    # near, where the effective size looks for it.
    watched = np.stack(rounds, axis=1).reshape(chains, PARTICLES, len(rounds), -1).astype(np.float64)
    watched[..., :-1] = watched[..., :-1] @ reference.axes.T + reference.origin
    return _judged(watched, draws, float(np.mean(rates)))


def _starting_pool(dynamics: AbstractDynamics, starts: Any) -> np.ndarray:
    if starts is None:
        starts = dynamics.anchors if isinstance(dynamics, Model) else ()
    pool = numbers("starts", starts, "finite states of shape (n, D)")
    if pool.ndim != 2 or not pool.size or not np.isfinite(pool).all():
        fail("starts", "finite states of shape (n, D)", f"shape {pool.shape}", "Give states from the data.")
    if isinstance(dynamics, Model) and pool.shape[1] != dynamics.dimension:
        fail("starts", f"states of {dynamics.dimension} coordinates, as the model's", f"shape {pool.shape}")
    return pool


def _judged(watched: np.ndarray, draws: int, acceptance: float) -> StationarySamples:
    """Diagnostics of the coordinates and V, given as `(chains, particles, rounds, D + 1)`.

    All particles tell whether the populations agree; the draws are those of evenly spaced particles.
    """
    chains, particles, rounds, size = watched.shape
    chosen = np.linspace(0, particles, -(-draws // rounds), endpoint=False).astype(int)
    kept = watched[:, chosen].reshape(chains, -1, size)[:, :draws]
    if draws < 4 or not np.isfinite(watched).all():
        nan = float("nan")
        reason = "Too few draws a chain to judge them." if draws < 4 else "A chain left the finite numbers."
        return StationarySamples(kept[..., :-1], nan, nan, acceptance, Result("not_judged", reason))
    disagreement = float(r_hat(watched.reshape(chains, -1, size)).max())
    effective = float(effective_sample_size(kept).min())
    result = Result()
    if not disagreement < R_HAT_LIMIT:
        result = Result(
            "not_mixed",
            f"Independent populations disagree (R-hat {disagreement:.3f}, limit {R_HAT_LIMIT}): they weight "
            "separate wells differently or have not settled.",
        )
    return StationarySamples(kept[..., :-1], disagreement, effective, acceptance, result)
