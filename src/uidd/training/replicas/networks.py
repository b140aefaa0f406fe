"""The same model learned several times over from independent data, all at once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..._checks import fail
from ..._programs import compiled, make_room
from ..._types import Result
from ...data import Scaling, Transitions
from ...dynamics import ComponentDynamics, solve_lower
from ...likelihood import EulerMaruyama
from ...models import Architecture, Model
from ...thermodynamics.variational_form import pull_and_root
from ..history import is_better
from ..objectives import (
    AbstractObjective,
    CirculationObjective,
    LikelihoodObjective,
    NoiseObjective,
    PotentialObjective,
)
from ..regression.free_fields import Features, FreeFields, free_fields
from ..regression.linear import fit_linear, start_from_linear
from ..solvers.adam import Adam, member, stacked
from ..solvers.plan import Plan

MOST_HELD_OUT = 8_192
# At how many states V, sigma and W learn, for each in a batch.
STATES_PER_BATCH = 16
# Standard deviations beyond which a state that follows the free drift has left the data.
FAR = 12.0
ANCHORS = 64
PLAN = Plan(steps=1000, batch=1024, learning_rate=5e-3, steps_per_epoch=100)


@dataclass(frozen=True)
class Replicas:
    """Models of the same system, each learned from a part of the data that the others did not see.

    Attributes:
        models: One a part.
        refined: The same with trained networks, whether they were kept or not.
        fields: Drift and noise that they were trained to meet, in unit-size coordinates, one a part.
        features: Degree and number of units that drift and noise were first found with.
        gains: In held-out nats a pair over the linear model, one a part.
        trained: Whether the networks were kept over the linear model, one a part.
        histories: The held-out loss of every stage, a row an epoch.
        misfit: What W leaves of the current, as a part of the entropy production, one a part.
        result: How it ended.
        seconds: Wall time.
    """

    models: tuple[Model, ...]
    refined: tuple[Model, ...]
    fields: tuple[FreeFields, ...]
    features: tuple[tuple[int, int], ...]
    gains: tuple[float, ...]
    trained: tuple[bool, ...]
    histories: dict[str, np.ndarray]
    misfit: tuple[float, ...]
    result: Result
    seconds: float

    def __len__(self) -> int:
        return len(self.models)

    def currents(self, states: np.ndarray) -> np.ndarray:
        """f - f_rev of every part `(K, n, D)`: the free drift less the model's reversible one.

        What `irreversible_drift` of the models should be, and is as far as W could learn it.
        """
        found = []
        for model, fields in zip(self.refined, self.fields, strict=True):
            unit = np.asarray(model.scaling.to_unit(states))
            reversible = np.asarray(
                _reversible(model.unit, jnp.asarray(unit, jnp.result_type(float))), np.float64
            )
            found.append(
                (fields.drift(unit) - reversible) * np.asarray(model.scaling.scale) / model.scaling.time
            )
        return np.stack(found)


def fit_replicas(
    parts: Sequence[Transitions],
    *,
    seed: int = 0,
    architecture: Architecture | str = "sgld",
    plan: Plan = PLAN,
    settle: float = 0.0,
    substeps: int = 4,
    report: Callable[[str], None] = lambda _: None,
) -> Replicas:
    """Learn one model from each part of the data, in programs that are mapped over the parts.

    For chains of which one iteration is one Euler step. A drift without structure is fitted to the
    increments; sigma to what it leaves; V to drift and sigma by the variational principle of
    `PotentialObjective`; W to the current that is left. Each stage has one network to learn, and V and W
    learn from fields in which the noise is averaged out already: the drift of one iteration is a tenth of its
    noise.

    The part after it is the data that a part is judged by. Its networks stay only if they raise the
    likelihood there by three standard errors over the linear model; otherwise that stays.

    Args:
        parts: At least two independent sets of pairs; the shortest counts.
        seed: Of weights and batches.
        architecture: The networks, or their name.
        plan: Of Adam, for each stage.
        settle: For how long states follow the free drift and sigma before V is sought. A chain of few and
            large kicks has another stationary density than the equation with the same f and M, which is the
            one that V describes.
        substeps: Euler steps for one of the data while they do; the density is off by the order of the step.
        report: Told what has been done.
    """
    begun = time.monotonic()
    if len(parts) < 2:
        fail("parts", "at least two sets of pairs", len(parts))
    make_room()
    architecture = Architecture.named(architecture) if isinstance(architecture, str) else architecture
    shortest, count = min(len(part.dt) for part in parts), len(parts)
    scaling = Scaling.of_transitions(parts)
    units = [scaling.transitions_to_unit(Transitions(*(each[:shortest] for each in part))) for part in parts]
    dimension = units[0].start.shape[1]
    linear = [fit_linear(unit, euler=True) for unit in units]
    own_key, settle_key, stage_key = jax.random.split(jax.random.key(seed), 3)
    own_keys, settle_keys = (jax.random.split(key, count) for key in (own_key, settle_key))

    def started(which: Architecture, k: int) -> ComponentDynamics:
        build_key, start_key = jax.random.split(own_keys[k])
        return start_from_linear(which.build(dimension, key=build_key), linear[k], key=start_key)

    models = stacked([started(architecture, k) for k in range(count)])
    plain = stacked([started(architecture.plain, k) for k in range(count)])
    fields = free_fields(units)
    stride = -(-shortest // (STATES_PER_BATCH * plan.batch))
    some = [unit.start[::stride] for unit in units]
    f = _on_device([field.drift(states) for field, states in zip(fields, some, strict=True)])
    sigma = _on_device([field.root(states) for field, states in zip(fields, some, strict=True)])
    start = _on_device(some)
    histories = {}

    def learned(name: str, objective: AbstractObjective, models, examples):
        key = jax.random.fold_in(stage_key, len(histories))
        found, histories[name] = Adam(objective, plan).train_all(models, examples, _of_others(examples), key)
        first, last = histories[name][0].mean(), histories[name][-1].mean()
        report(f"{name}: held-out loss {first:.5g} -> {last:.5g} ({time.monotonic() - begun:.0f} s)")
        return found

    models = learned("noise", NoiseObjective(), models, (start, sigma))
    if settle:
        steps = substeps * max(1, round(settle / float(parts[0].dt[0])))
        dt = units[0].dt[0] / substeps
        some = [
            _settled(fields[k], member(models, k), start[k], dt, steps, settle_keys[k]) for k in range(count)
        ]
        start = _on_device(some)
        f = _on_device([field.drift(np.asarray(states)) for field, states in zip(fields, some, strict=True)])
    pull, root = _pulls(models, start, f)
    models = learned("potential", PotentialObjective(), models, (start, pull, root))
    dV, inverse, current = _currents(models, start, pull, root)
    models = learned("circulation", CirculationObjective(), models, (start, dV, current, inverse))
    pairs = tuple(_on_device([getattr(unit, name) for unit in units]) for name in Transitions._fields)
    judge, others = Adam(LikelihoodObjective(EulerMaruyama()), plan), _of_others(pairs)
    before, after = (
        judge.losses_of_all(*eqx.partition(each, eqx.is_array), others) for each in (plain, models)
    )
    gain = before - after
    keep = [bool(np.isfinite(row).all()) and is_better(row) for row in gain]
    left = histories["circulation"][-1] / np.maximum(histories["potential"][-1], 1e-12)

    def model(k: int, networks: bool) -> Model:
        which = architecture if networks else architecture.plain
        unit = member(models if networks else plain, k)
        states = scaling.to_user(units[k].start[:: max(1, shortest // ANCHORS)][:ANCHORS])
        names = tuple(f"z{d + 1}" for d in range(dimension))
        return Model(unit, which, scaling, tuple(tuple(map(float, z)) for z in states), names)

    finite = all(np.isfinite(history).all() for history in histories.values())
    words = "A loss was not finite; the last weights before it are kept."
    return Replicas(
        models=tuple(map(model, range(count), keep)),
        refined=tuple(model(k, True) for k in range(count)),
        fields=tuple(fields),
        features=tuple((own.degree, own.units) for own in (fields[0].drift, fields[0].variance)),
        gains=tuple(float(row.mean()) for row in gain),
        trained=tuple(keep),
        histories=histories,
        misfit=tuple(map(float, left)),
        result=Result() if finite else Result("not_finite", words),
        seconds=time.monotonic() - begun,
    )


def _settled(fields: FreeFields, dynamics: ComponentDynamics, start, dt: float, steps: int, key):
    """States after so many Euler steps of free drift and sigma; what leaves the data stays where it was."""
    coefficients = jnp.asarray(fields.drift.coefficients, start.dtype)
    return _followed(
        fields.drift.features, coefficients, dynamics, start, jnp.asarray(dt, start.dtype), steps, key
    )


@compiled
def _followed(features: Features, coefficients, dynamics, start, dt, steps: int, key):
    def step(z, key):
        noise = jax.random.normal(key, z.shape, z.dtype)
        drift = jax.vmap(features)(z) @ coefficients
        kicks = jax.vmap(lambda z, xi: dynamics.diffusion(z) @ xi)(z, noise)
        return z + dt * drift + jnp.sqrt(dt) * kicks, None

    end, _ = jax.lax.scan(step, start, jax.random.split(key, steps))
    inside = jnp.all(jnp.abs(end) < FAR, axis=1)
    return jnp.where(inside[:, None], end, start)


def _on_device(arrays):
    return jnp.stack([jnp.asarray(each, jnp.result_type(float)) for each in arrays])


def _of_others(examples):
    """Some examples of the part after each."""
    stride = -(-examples[0].shape[1] // MOST_HELD_OUT)
    return tuple(jnp.roll(part[:, ::stride], -1, axis=0) for part in examples)


@compiled
def _pulls(models, start, f):
    """root^-1 (f - div M), and a root of M, at every state."""
    return _mapped(pull_and_root, models, start, f)


@compiled
def _currents(models, start, pull, root):
    """grad V, root^-1, and root^-1 f_irr = pull + root^T grad V, at every state."""

    def one(dynamics, z, pull, root):
        dV = dynamics.potential_gradient(z)
        return dV, solve_lower(root, jnp.eye(len(z), dtype=z.dtype)), pull + dV @ root

    return _mapped(one, models, start, pull, root)


def _mapped(function, models, *examples):
    weights, static = eqx.partition(models, eqx.is_array)

    def of_one(weights, *examples):
        dynamics = eqx.combine(weights, static)
        return jax.lax.map(lambda each: function(dynamics, *each), examples, batch_size=4096)

    return jax.vmap(of_one)(weights, *examples)


@compiled
def _reversible(dynamics: ComponentDynamics, states):
    return jax.lax.map(dynamics.reversible_drift, states, batch_size=4096)
