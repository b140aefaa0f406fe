"""Entropy production: local, global, and of the system."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from .._types import Result, Scalar, State
from ..dynamics import AbstractDynamics, solve_lower
from ..models import Model
from .records import Estimate


def local_entropy_production(dynamics: AbstractDynamics, z: State) -> Scalar:
    """s_tot(z) = f_irr^T M^-1 f_irr, in k_B per unit time.

    With M = sigma sigma^T / 2 and triangular sigma this is 2 |sigma^-1 f_irr|^2: no inverse is formed.
    """
    return 2 * jnp.sum(solve_lower(dynamics.diffusion(z), dynamics.irreversible_drift(z)) ** 2)


def system_entropy_production(dynamics: AbstractDynamics, z: State) -> Scalar:
    """s_sys(z) = f_irr . grad V, the rate of change of -log(stationary density) along the current.

    The paper's two displayed chains disagree in sign. With s = -log rho = V + const carried along the
    current, s_sys = f_irr . grad V = (div W) . grad V = div f_irr; its stationary mean is zero.
    """
    return jnp.dot(dynamics.irreversible_drift(z), dynamics.potential_gradient(z))


def entropy_production_rate(dynamics: AbstractDynamics, samples: Any) -> Estimate:
    """S_tot, the mean of s_tot over draws from e^-V / Z, in k_B per unit time.

    Args:
        dynamics: A learned model or a known system.
        samples: Draws from `sample_stationary`, or an array `(n, D)` of independent draws, or
            `(chains, n, D)`.

    Returns:
        The mean with its Monte Carlo standard error. With chains the error is that of the mean of
        independent chains, so it holds the correlation within a chain and any disagreement between
        chains. How well the model itself is known is not in it.
    """
    draws = np.asarray(samples)
    if draws.ndim not in (2, 3) or draws.shape[-1] == 0 or draws.size == 0:
        fail("samples", "draws of shape (n, D) or (chains, n, D)", f"shape {draws.shape}")
    chains = getattr(samples, "chains", draws if draws.ndim == 3 else draws[:, None])
    states = chains.reshape(-1, draws.shape[-1])
    if isinstance(dynamics, Model) and draws.shape[-1] != dynamics.dimension:
        fail("samples", f"states of {dynamics.dimension} coordinates, as the model's", f"shape {draws.shape}")
    if isinstance(dynamics, Model):  # in unit-size coordinates no digit is lost to offsets
        unit_states = dynamics.scaling.to_unit(states)
        values = _mapped(dynamics.unit, jnp.asarray(unit_states)) / dynamics.scaling.time
    else:
        values = _mapped(dynamics, jnp.asarray(states))
    means = np.asarray(values, np.float64).reshape(chains.shape[:2]).mean(axis=1)
    error = means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else np.nan
    result = getattr(samples, "result", Result())
    if not np.isfinite(means).all():
        result = Result("not_finite", "The local entropy production is not finite at some draws.")
    return Estimate(float(means.mean()), float(error), result)


def irreducible_spread(rate: float, total_time: float) -> float:
    """What a stationary path of length T leaves undetermined of a rate S: sqrt(2 S T) / T.

    One fitted degree of freedom costs about 2 / T even where nothing is irreversible, which is added.
    """
    return float(np.sqrt(2 * max(rate, 0.0) / total_time + (2 / total_time) ** 2))


@compiled
def _mapped(dynamics: AbstractDynamics, states: jax.Array) -> jax.Array:
    return jax.lax.map(lambda z: local_entropy_production(dynamics, z), states, batch_size=4096)
