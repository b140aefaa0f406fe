"""V of an equation that is known, but whose stationary density is not."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from .._types import Result
from ..components import SumOfSquares
from ..data import Scaling
from ..dynamics import AbstractEquation
from ..models import Architecture
from ..thermodynamics import Estimate
from ..thermodynamics.variational_form import pull_and_root
from .objectives import PotentialObjective
from .regression.linear import LinearModel, start_from_linear
from .solvers.adam import Adam, member, stacked
from .solvers.plan import Plan

PLAN = Plan(steps=2000, batch=1024, learning_rate=5e-3, steps_per_epoch=500)


@dataclass(frozen=True)
class KnownEquation:
    """The stationary density of an equation, learned, and what follows from it.

    Attributes:
        rate: The entropy production, E |f - f_rev|^2 in the metric M^-1; approached from above.
        potential_gradients: grad V at the states that were held out.
        states: Those states.
    """

    rate: Estimate
    potential_gradients: np.ndarray
    states: np.ndarray


def solve_for_potential(
    equation: AbstractEquation,
    states: np.ndarray,
    *,
    known: np.ndarray | None = None,
    widths: tuple[int, ...] = (64,),
    plan: Plan = PLAN,
    seed: int = 0,
) -> KnownEquation:
    """V by the variational principle of `PotentialObjective`, with the exact f and M: no data, no noise.

    The network begins as the Gaussian of the states' covariance, or as a potential that is known if that is
    nearer.

    Args:
        equation: f and sigma.
        states: Draws `(n, D)` from its stationary density; half of them are held out.
        known: Gradients `(n, D)`, at the states, of a potential that may be near.
        widths: Of V's network.
        plan: Of Adam.
        seed: Of weights and batches.
    """
    if states.ndim != 2 or len(states) < 4:
        fail("states", "at least four states, of shape (n, D)", f"shape {states.shape}")
    D = states.shape[1]
    center, scale = states.mean(axis=0), states.std(axis=0)
    scaling = Scaling(tuple(map(float, center)), tuple(map(float, scale)), 1.0)
    unit = jnp.asarray(scaling.to_unit(states), jnp.result_type(float))
    pull, root = _pulls(equation, jnp.asarray(states, jnp.result_type(float)), jnp.asarray(scale, unit.dtype))
    precision = np.linalg.inv(np.cov(np.asarray(unit).T).reshape(D, D))
    gaussian = np.asarray(unit) @ precision
    if known is None or _distance(pull, root, gaussian) < _distance(pull, root, scale * known):
        known = gaussian / scale
    beyond = scale * known - gaussian  # what the network's Gaussian start does not have
    pull += jnp.einsum("nd,nde->ne", jnp.asarray(beyond, unit.dtype), root)
    start = LinearModel(np.zeros(D), precision, np.eye(D), np.zeros((D, D)), Result())
    architecture = Architecture(SumOfSquares(widths=widths))
    build_key, start_key, key = jax.random.split(jax.random.key(seed), 3)
    model = start_from_linear(architecture.build(D, key=build_key), start, key=start_key)
    last = len(states) // 2
    examples, held_out = (
        tuple(part[None, k] for part in (unit, pull, root)) for k in (slice(last, None), slice(0, last))
    )
    adam = Adam(PotentialObjective(), plan)
    models, _ = adam.train_all(stacked([model]), examples, held_out, key)
    # Too low where V was found, too high elsewhere, by the same amount to leading order.
    learned = eqx.partition(models, eqx.is_array)
    seen, losses = (adam.losses_of_all(*learned, each)[0] for each in (examples, held_out))
    V = member(models.potential_component, 0)
    gradients = (np.asarray(_gradients(V, unit[:last]), np.float64) + beyond[:last]) / scale
    rate = Estimate(float(seen.mean() + losses.mean()) / 2, float(losses.std() / len(states) ** 0.5))
    return KnownEquation(rate, gradients, states[:last])


def _distance(pull, root, dV: np.ndarray) -> float:
    """What `PotentialObjective` minimises, of gradients."""
    return float(
        jnp.mean(jnp.sum((pull + jnp.einsum("nd,nde->ne", jnp.asarray(dV, pull.dtype), root)) ** 2, 1))
    )


@compiled
def _pulls(equation, states, scale):
    """root^-1 (f - div M), which no scale changes, and the root of M in unit-size coordinates."""

    def one(z):
        pull, root = pull_and_root(equation, z)
        return pull, root / scale[:, None]

    return jax.lax.map(one, states, batch_size=2048)


@compiled
def _gradients(V, states):
    return jax.vmap(V.gradient)(states)
