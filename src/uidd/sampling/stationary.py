"""Draws from e^-V itself, by Metropolis-adjusted Langevin chains."""

from dataclasses import dataclass, replace
from typing import Any

import blackjax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.step_size import dual_averaging_adaptation

from .._checks import fail, numbers, whole_number
from .._types import Result
from ..dynamics import AbstractDynamics
from ..models import Model

R_HAT_LIMIT = 1.05
WARM_UP_ROUNDS = 8
WARM_UP_STEPS = 150
THINNING = 10
# The acceptance rate at which a Metropolis-adjusted Langevin chain moves fastest.
TARGET_ACCEPTANCE = 0.574


@dataclass(frozen=True)
class StationarySamples:
    """Draws from e^-V / Z with what is needed to judge them. Reads as an array `(n, D)`.

    Attributes:
        chains: The draws, of shape `(chains, draws, D)`.
        r_hat: Split R-hat, the largest over the coordinates and V.
        effective_sample_size: The smallest over the coordinates and V.
        acceptance: The mean acceptance rate.
        result: `ok`, or `not_mixed` when chains disagree: then their mean means nothing.
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
    chains: int | None = None,
) -> StationarySamples:
    """About `count` draws from e^-V / Z.

    An average over an Euler path of the dynamics is biased by its step; a Metropolis-corrected
    chain is not. Many chains start from data. In a warm-up of several rounds the chains
    learn a common step size and the covariance of the states that they visit, by which they are whitened.

    Args:
        dynamics: A learned model, or any dynamics when `starts` are given.
        count: How many draws, rounded up to a multiple of `chains`.
        seed: Of the chains.
        starts: States `(n, D)` from which chains start, at random; a model's anchors by default.
        chains: How many chains; by default one for every 250 draws, at least 40 and at most 400.
    """
    if not isinstance(dynamics, AbstractDynamics):
        fail("dynamics", "a model or other dynamics", type(dynamics).__name__)
    whole_number("count", count)
    whole_number("seed", seed, least=0)
    chains = min(max(count // 250, 40), 400) if chains is None else whole_number("chains", chains, least=4)
    pool = _starting_pool(dynamics, starts)
    if isinstance(dynamics, Model):
        # In unit-size coordinates all models of one architecture share one compiled program.
        unit = sample_stationary(
            dynamics.unit, count, seed=seed, starts=dynamics.scaling.to_unit(pool), chains=chains
        )
        return replace(unit, chains=dynamics.scaling.to_user(unit.chains))
    start_key, run_key = jax.random.split(jax.random.key(seed))
    chosen = jax.random.choice(start_key, len(pool), (chains,), replace=len(pool) < chains)
    center, spread = pool.mean(axis=0), np.where(pool.std(axis=0) > 0, pool.std(axis=0), 1.0)
    draws = -(-count // chains)
    unit, energy, acceptance = _run(
        dynamics,
        jnp.asarray(center),
        jnp.asarray(spread),
        jnp.asarray((pool[np.asarray(chosen)] - center) / spread),
        max(draws, 4),
        run_key,
    )
    states = center + spread * np.asarray(unit, np.float64)
    return _judged(states[:, :draws], np.asarray(energy)[:, :draws], float(acceptance))


def _starting_pool(dynamics: AbstractDynamics, starts: Any) -> np.ndarray:
    if starts is None:
        starts = dynamics.anchors if isinstance(dynamics, Model) else ()
    pool = numbers("starts", starts, "finite states of shape (n, D)")
    if pool.ndim != 2 or not pool.size or not np.isfinite(pool).all():
        fail("starts", "finite states of shape (n, D)", f"shape {pool.shape}", "Give states from the data.")
    if isinstance(dynamics, Model) and pool.shape[1] != dynamics.dimension:
        fail("starts", f"states of {dynamics.dimension} coordinates, as the model's", f"shape {pool.shape}")
    return pool


@eqx.filter_jit
def _run(dynamics, center, spread, starts, draws: int, key):
    """All chains together: warm-up rounds, then thinned draws, in coordinates y = (z - center) / spread."""
    dimension = starts.shape[1]
    kernel = blackjax.mala.build_kernel()
    begin, update, final = dual_averaging_adaptation(TARGET_ACCEPTANCE)

    def density(factor):
        """log e^-V in whitened coordinates x, y = factor x."""
        return lambda x: -dynamics.potential(center + spread * (factor @ x))

    def enter(factor, y):
        x = jax.scipy.linalg.solve_triangular(factor, y.T, lower=True).T
        return jax.vmap(lambda x: blackjax.mala.init(x, density(factor)))(x)

    def advance(factor, step_size, state, step_key):
        keys = jax.random.split(step_key, len(starts))
        state, info = jax.vmap(lambda k, s: kernel(k, s, density(factor), step_size))(keys, state)
        return state, jnp.nan_to_num(info.acceptance_rate).mean()

    def warm_up(carry, round_key):
        """Tune the step size under the present whitening, then learn the next one from the path."""
        y, factor, step_size = carry

        def one(carry, step_key):
            state, adaptation = carry
            state, rate = advance(factor, jnp.exp(adaptation.log_step_size), state, step_key)
            return (state, update(adaptation, rate)), state.position

        keys = jax.random.split(round_key, WARM_UP_STEPS)
        (_, adaptation), path = jax.lax.scan(one, (enter(factor, y), begin(step_size)), keys)
        path = path @ factor.T
        covariance = jnp.cov(path[WARM_UP_STEPS // 2 :].reshape(-1, dimension).T).reshape(
            dimension, dimension
        )
        covariance += 1e-6 * jnp.trace(covariance) / dimension * jnp.eye(dimension)
        return (path[-1], jnp.linalg.cholesky(covariance), final(adaptation)), factor

    def keep(state, draw_key):
        keys = jax.random.split(draw_key, THINNING)
        state, rates = jax.lax.scan(lambda s, k: advance(factor, step_size, s, k), state, keys)
        return state, (state.position, -state.logdensity, rates.mean())

    warm_key, draw_key = jax.random.split(key)
    carry = (starts, jnp.eye(dimension), jnp.asarray(0.1))
    (y, _, step_size), factors = jax.lax.scan(warm_up, carry, jax.random.split(warm_key, WARM_UP_ROUNDS))
    factor = factors[-1]  # the whitening under which the last step size was tuned
    _, (path, energy, rates) = jax.lax.scan(keep, enter(factor, y), jax.random.split(draw_key, draws))
    return jnp.swapaxes(path @ factor.T, 0, 1), energy.T, rates.mean()


def _judged(chains: np.ndarray, energy: np.ndarray, acceptance: float) -> StationarySamples:
    """Diagnostics over the coordinates and V; the chains are split in halves, so that drift shows too."""
    watched = np.concatenate([chains, energy[..., None]], axis=-1)
    half = watched.shape[1] // 2
    split = np.concatenate([watched[:, :half], watched[:, half : 2 * half]])
    if half < 2 or not np.isfinite(split).all():
        nan = float("nan")
        reason = "Too few draws a chain to judge them." if half < 2 else "A chain left the finite numbers."
        return StationarySamples(chains, nan, nan, acceptance, Result("not_judged", reason))
    spread = split.std(axis=(0, 1))
    split = (split - split.mean(axis=(0, 1))) / np.where(spread > 0, spread, 1.0)
    r_hats, sizes = _diagnostics(jnp.asarray(split))
    r_hat, size = float(np.max(r_hats)), float(np.min(sizes))
    result = Result()
    if not r_hat < R_HAT_LIMIT:
        result = Result(
            "not_mixed",
            f"The chains disagree (R-hat {r_hat:.3f}, limit {R_HAT_LIMIT}): they stay in separate wells or "
            "have not settled.",
        )
    return StationarySamples(chains, r_hat, size, acceptance, result)


@jax.jit
def _diagnostics(split):
    return (
        blackjax.diagnostics.potential_scale_reduction(split),
        blackjax.diagnostics.effective_sample_size(split),
    )
