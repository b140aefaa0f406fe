"""Do learned models follow the samplers from far away?"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..._programs import compiled
from ...data import Transitions
from ...likelihood import EulerMaruyama
from ...models import Model
from ...training import fit_replicas
from .problems import Problem, Size

SHOWN = 100
# Share of recorded states that are further out than means over states go.
OUTSIDE = 1e-4


def followed_paths(problem: Problem, size: Size, batch_size: int | None, seed: int) -> dict[str, np.ndarray]:
    """Mean and deviation of states and mean loss over `size.paths` chains, true and predicted.

    From zero (or, where that is no state of the sampler, from one start for all) and from random starts. The
    model is learned from pairs that begin where the chains do: far out the burn-in is what is asked about.
    """
    every = max(1, (size.burn_in + size.iterations) // SHOWN)
    iterations = SHOWN * every
    # As many pairs and models as the study has: the same programs serve.
    parts, chains = [], max(1, size.pairs // SHOWN)
    for k in range(size.seeds):
        run = problem.run(batch_size, chains, iterations, every=every, start=None, seed=seed + k)
        made = run.transitions()
        begun, increment = problem.identified(made.start, made.increment)
        parts.append(Transitions(begun, increment, made.dt))
    model = fit_replicas(parts, seed=seed, architecture=size.architecture, plan=size.plan).refined[0]
    dimension = parts[0].start.shape[1]
    starts = problem.starts(np.random.default_rng(seed), size.paths)
    starts = {name: problem.identified(start)[0] for name, start in starts.items()}
    found: dict[str, np.ndarray] = {"iteration": np.arange(0, iterations, every)}
    for name, start in starts.items():
        true = problem.run(batch_size, size.paths, iterations, every=every, start=start, seed=seed + 5).start
        unit = jnp.asarray(model.scaling.to_unit(start), jnp.result_type(float))
        dt = jnp.asarray(problem.sampler.step / model.scaling.time, unit.dtype)
        made = _predicted(model.unit, unit, dt, iterations // every, every, jax.random.key(seed))
        predicted = model.scaling.to_user(np.asarray(made, np.float64))
        for which, paths in (("true", true), ("predicted", predicted)):
            paths = problem.identified(np.asarray(paths, np.float32))[0]
            found[f"{name} {which} mean"] = paths.mean(axis=0)
            found[f"{name} {which} deviation"] = paths.std(axis=0)
            losses = jax.vmap(jax.vmap(problem.loss))(jnp.asarray(paths))
            found[f"{name} {which} loss"] = np.median(np.asarray(losses), axis=0)
            if name == "random":
                found[f"{which} end"] = paths[:, -20::5].reshape(-1, dimension)
    return found


def settled(
    models: Sequence[Model], states: np.ndarray, time: float, step: float, *, seed: int
) -> np.ndarray:
    """States of the models' own stationary densities: those of the sampler, followed by each for some time.

    Every model takes its share of the states.
    """
    found = []
    for k, (model, some) in enumerate(zip(models, np.array_split(states, len(models)), strict=True)):
        unit = jnp.asarray(model.scaling.to_unit(some), jnp.result_type(float))
        key, dt = jax.random.fold_in(jax.random.key(seed), k), jnp.asarray(step / model.scaling.time)
        made = _predicted(model.unit, unit, dt.astype(unit.dtype), 2, max(1, round(time / step)), key)
        found.append(model.scaling.to_user(np.asarray(made[:, 1], np.float64)))
    return np.concatenate(found).astype(np.float32)


def are_outside_support(states: np.ndarray, recorded: np.ndarray) -> np.ndarray:
    """Whether states are further out than all but one in ten thousand of the recorded, in their covariance.

    There the models were never told anything; and where M is all but singular, one state in 200,000 outweighs
    the mean of the others. What left the finite numbers is outside too.
    """
    whitening = np.linalg.inv(np.linalg.cholesky(np.cov(recorded.T)))

    def radius(z):
        return np.linalg.norm((z - recorded.mean(axis=0)) @ whitening.T, axis=1)

    return ~(radius(states) <= np.quantile(radius(recorded), 1 - OUTSIDE))


@compiled
def _predicted(dynamics, starts, dt, kept, every, key):
    """Euler steps of one iteration each, as the sampler makes them."""

    def iteration(z, key):
        return z + EulerMaruyama().draw(dynamics, z, dt, key=key)

    def stretch(z, key):
        def step(z, key):
            return jax.vmap(iteration)(z, jax.random.split(key, len(z))), None

        return jax.lax.scan(step, z, jax.random.split(key, every))[0], z

    return jnp.swapaxes(jax.lax.scan(stretch, starts, jax.random.split(key, kept))[1], 0, 1)
