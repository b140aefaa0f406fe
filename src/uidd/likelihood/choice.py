"""How many steps the likelihood needs, from an estimate of what too few would cost."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._programs import compiled
from .._types import Result
from ..dynamics import AbstractEquation, solve_lower
from .cubature import Cubature

LADDER = tuple(Cubature(steps, order) for steps, order in ((1, 2), (1, 4), (2, 4), (4, 4), (8, 4), (16, 4)))
# Nats over all data: a degree of freedom that is fitted to noise gains as much.
MOST_LOST = 0.5
LOOKED_AT = 2048


@dataclass(frozen=True)
class StepChoice:
    """The cheapest likelihood whose step error the data cannot see.

    Attributes:
        likelihood: The one chosen.
        lost: What its step error costs, in nats over all data: the divergence from the next finer one. For
            the finest of the ladder: what is left of its divergence from the one before.
        result: `ok`, or `coarse` if even the finest of the ladder loses more than that.
    """

    likelihood: Cubature
    lost: float
    result: Result


def choose_steps(
    dynamics: AbstractEquation,
    starts: Float[np.ndarray, "n D"],
    dt: Float[np.ndarray, " n"],
    total: int,
    *,
    at_least: Cubature | None = None,
    at_most: Cubature | None = None,
    most_lost: float = MOST_LOST,
    counted: float = 1.0,
) -> StepChoice:
    """Climb the ladder of `Cubature` schemes until the step error is below `most_lost` over `total` pairs.

    With the transition N(m, P) of one scheme and N(m', P') of the next, a pair loses
    KL ~ |m - m'|_P^2 / 2 + |1 - L^-1 P' L^-T|^2 / 4 nats. Of the pairs the part `counted` with the smallest
    losses counts: while a model is being found it may be far off where the last few are.
    """
    chosen = np.linspace(0, len(dt) - 1, min(LOOKED_AT, len(dt))).astype(int)
    z, h = (jnp.asarray(part[chosen], jnp.result_type(float)) for part in (starts, dt))
    first = 0 if at_least is None else LADDER.index(at_least)
    words = "{} steps an interval leave an error of {:.2g} nats: the frames are far apart for this drift."
    coarse, lost = _moments(dynamics, LADDER[first], z, h), float("inf")
    for likelihood, finer in zip(LADDER[first:-1], LADDER[first + 1 :], strict=True):
        fine = _moments(dynamics, finer, z, h)
        losses = np.sort(np.nan_to_num(_divergences(*coarse, *fine), nan=np.inf, posinf=np.inf))
        lost = float(losses[: round(counted * len(losses))].sum()) / len(losses) * total
        if lost < most_lost:
            return StepChoice(likelihood, lost, Result())
        if likelihood == at_most:
            return StepChoice(likelihood, lost, Result("coarse", words.format(likelihood.steps, lost)))
        coarse = fine
    # Twice the steps leave 1/16 of an error of fourth order, and the loss is quadratic in the error.
    lost /= 4 ** LADDER[-1].order
    ended = Result() if lost < most_lost else Result("coarse", words.format(LADDER[-1].steps, lost))
    return StepChoice(LADDER[-1], lost, ended)


def _divergence(m: Array, L: Array, m_fine: Array, L_fine: Array) -> Array:
    ratio = solve_lower(L, L_fine)
    return (
        jnp.sum(solve_lower(L, m - m_fine) ** 2) / 2 + jnp.sum((jnp.eye(len(m)) - ratio @ ratio.T) ** 2) / 4
    )


_divergences = compiled(jax.vmap(_divergence))


def _moments(dynamics: AbstractEquation, likelihood: Cubature, starts: Array, dt: Array):
    return _carried(dynamics, likelihood.as_argument, starts, dt)


@compiled
def _carried(dynamics, likelihood, starts, dt):
    return jax.vmap(lambda z, h: likelihood.moments(dynamics, z, h))(starts, dt)
