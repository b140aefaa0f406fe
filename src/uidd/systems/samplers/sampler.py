"""A chain that follows mini-batch gradients and noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..._checks import fail, numbers, whole_number
from ..._programs import compiled
from ..._types import Matrix, State
from ...data import Transitions
from .forces import Negative, residual_gradient
from .fused import LeastSquaresChains

# Chains that are moved at once: what bounds the memory. An accelerator is not full before there are many.
CHUNK, CHUNK_ON_ACCELERATOR = 8192, 131_072


@dataclass(frozen=True)
class Run:
    """What is kept of chains: every so many iterations the state and the step made from it.

    Attributes:
        start: Z_k, of shape (chains, kept, D).
        increment: Z_{k+1} - Z_k, of the same shape.
        last: The states after the last iteration.
        step: The time of one iteration.
        lost: Chains that left the finite numbers, and are not among these.
    """

    start: np.ndarray
    increment: np.ndarray
    last: np.ndarray
    step: float
    lost: int = 0

    def transitions(self) -> Transitions:
        """All kept pairs, behind one another."""
        dimension = self.start.shape[-1]
        start, increment = (part.reshape(-1, dimension) for part in (self.start, self.increment))
        return Transitions(start, increment, np.full(len(start), self.step))


class Sampler(eqx.Module):
    """z' = z + step [scale * mean of force(z, datum) over a random batch + common(z)] + sqrt(step) R(z) xi.

    One iteration takes the time `step`. To leading order in it the chain is the equation `SamplerEquation`.

    Attributes:
        force: From a state and one datum to its force, minus the gradient of its loss.
        common: From a state to the force that does not depend on data, such as a prior's; or nothing.
        noise: The variance per unit time, or from a state to a matrix R whose R R^T it is.
        start: From a key to the state in which a chain begins.
        data: Arrays whose first axis counts the data.
        scale: n for a sum over the data, 1 for a mean.
        batch_size: Data in a batch; None takes all of them in every iteration.
        step: The learning rate.
        replacement: Whether a datum can be in a batch twice.
    """

    force: Callable[[State, PyTree], State]
    common: Callable[[State], State] | None
    noise: float | Callable[[State], Matrix]
    start: Callable[[PRNGKeyArray], State]
    data: PyTree
    scale: float = eqx.field(static=True)
    batch_size: int | None = eqx.field(static=True)
    step: float = eqx.field(static=True)
    replacement: bool = eqx.field(static=True)

    @property
    def count(self) -> int:
        """n, the number of data."""
        return len(jax.tree.leaves(self.data)[0])

    def with_batch_size(self, batch_size: int | None) -> "Sampler":
        """The same problem with another batch; None for all data."""
        return replace(self, batch_size=known_batch_size(batch_size, self.count))

    @property
    def least_squares(self) -> tuple[Array, Array] | None:
        """A and v, if all that is followed is -scale * mean of (a . z - v) a and a noise that is constant."""
        match self.force, self.data:
            case Negative(gradient=gradient), (A, v) if gradient is residual_gradient:
                constant = self.common is None and not callable(self.noise)
                return (A, v) if constant and A.ndim == 2 and v.shape == A.shape[:1] else None
        return None

    def mean_force(self, z: State, batch: PyTree) -> State:
        """scale * mean of force(z, datum) over the batch + common(z)."""
        mean = self.scale * jnp.mean(jax.vmap(self.force, (None, 0))(z, batch), axis=0)
        return mean if self.common is None else mean + self.common(z)

    def random_part(self, z: State, xi: State) -> State:
        """R(z) xi."""
        return self.noise(z) @ xi if callable(self.noise) else self.noise**0.5 * xi

    def increment(self, z: State, key: PRNGKeyArray) -> State:
        """One iteration."""
        batch_key, noise_key = jax.random.split(key)
        xi = jax.random.normal(noise_key, z.shape, z.dtype)
        force = self.mean_force(z, self._batch(batch_key))
        return self.step * force + self.step**0.5 * self.random_part(z, xi)

    def run(
        self,
        chains: int,
        iterations: int,
        *,
        every: int = 1,
        start: Any = None,
        seed: int,
        drop_lost: bool = False,
        report: Callable[[int], None] = lambda _: None,
    ) -> Run:
        """Chains from their own starts; the state and the step from it are kept every so many iterations.

        Nothing else is stored, and `CHUNK` chains are moved at once. A chain depends on the seed and its
        number alone, to rounding. Least squares on a CPU go through a compiled loop (`fused`), which draws
        other batches and noise than JAX does, of the same law.

        Args:
            chains: How many.
            iterations: Of every chain, a multiple of `every`.
            every: Iterations between two that are kept.
            start: One state for all chains or one each, in place of the sampler's own.
            seed: Of starts, batches and noise.
            drop_lost: Leave out chains that leave the finite numbers; otherwise one is an error.
            report: Told how many chains are done.
        """
        whole_number("chains", chains)
        whole_number("seed", seed, least=0)
        if whole_number("iterations", iterations) % whole_number("every", every):
            fail("iterations", f"a multiple of `every`, {every}", iterations)
        state = jax.eval_shape(self.start, jax.random.key(seed))
        if start is not None:
            start = _given(start, chains, state)
        kept = (chains, iterations // every, *state.shape)
        run = Run(
            np.empty(kept, state.dtype),
            np.empty(kept, state.dtype),
            np.empty((chains, *state.shape), state.dtype),
            self.step,
        )
        kernel = kernel_of(self)
        chunk = CHUNK if jax.default_backend() == "cpu" else CHUNK_ON_ACCELERATOR
        for first in range(0, chains, chunk):
            chosen = slice(first, min(first + chunk, chains))
            starts, keys = _begun(self.start, _keys(seed, np.arange(chosen.start, chosen.stop)))
            if start is not None:
                starts = start[chosen]
            if kernel is not None:
                kept_here = run.start[chosen], run.increment[chosen], run.last[chosen]
                kernel.move(starts, first, seed, every, *kept_here)
            else:
                pairs, run.last[chosen] = _moved(self, starts, keys, kept[1], every)
                run.start[chosen], run.increment[chosen] = pairs
            report(chosen.stop)
        kept_finite = np.isfinite(run.last).all(axis=1)
        lost = int((~kept_finite).sum())
        if not lost:
            return run
        if not drop_lost or lost == chains:
            must = "small enough for the chains to stay finite"
            fail("step", must, self.step, f"{lost} of {chains} diverged.")
        start, increment, last = (part[kept_finite] for part in (run.start, run.increment, run.last))
        return Run(start, increment, last, self.step, lost)

    def _batch(self, key: PRNGKeyArray) -> PyTree:
        n, b = self.count, self.batch_size
        if b is None:
            return self.data
        chosen = (
            jax.random.randint(key, (b,), 0, n) if self.replacement else jax.random.permutation(key, n)[:b]
        )
        return jax.tree.map(lambda part: part[chosen], self.data)


def kernel_of(sampler: Sampler) -> LeastSquaresChains | None:
    """The compiled loop for these chains: least squares, constant noise, single precision, on a CPU."""
    if sampler.least_squares is None or callable(sampler.noise):
        return None
    A, v = sampler.least_squares
    starts = jax.eval_shape(sampler.start, jax.random.key(0))
    single = {A.dtype, v.dtype, starts.dtype} == {np.dtype(np.float32)}
    if starts.shape != A.shape[1:] or not single or jax.default_backend() != "cpu":
        return None
    q, deviation = sampler.step * sampler.scale, (sampler.noise * sampler.step) ** 0.5
    return LeastSquaresChains(
        np.asarray(A), np.asarray(v), q, deviation, sampler.batch_size, sampler.replacement
    )


def known_batch_size(batch_size: int | None, n: int) -> int | None:
    """Return `batch_size` if there are so many of n data."""
    if batch_size is None:
        return None
    if whole_number("batch_size", batch_size) > n:
        fail("batch_size", f"at most the number of data, {n}", batch_size, "None takes all of them.")
    return int(batch_size)


def _given(start: Any, chains: int, state: Any) -> np.ndarray:
    given = numbers("start", start, "a state")
    if given.shape not in (state.shape, (chains, *state.shape)) or not np.isfinite(given).all():
        must = f"finite numbers of shape {state.shape}, or {(chains, *state.shape)} for one state a chain"
        fail("start", must, f"shape {given.shape}")
    return np.broadcast_to(given.astype(state.dtype), (chains, *state.shape))


def _keys(seed: int, chains: np.ndarray) -> PRNGKeyArray:
    return jax.vmap(lambda c: jax.random.fold_in(jax.random.key(seed), c))(chains)


@compiled
def _begun(start: Callable[[PRNGKeyArray], State], keys: PRNGKeyArray):
    start_keys, keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    return jax.vmap(start)(start_keys), keys


@compiled
def _moved(
    sampler: Sampler, starts: Float[Array, "c D"], keys: PRNGKeyArray, kept: int, every: int
) -> tuple[tuple[Float[Array, "c k D"], Float[Array, "c k D"]], Float[Array, "c D"]]:
    def iteration(state, _):
        z, key = state
        key, own = jax.random.split(key)
        increment = sampler.increment(z, own)
        return (z + increment, key), increment

    def stretch(state, _):
        begun = state[0]
        state, increment = iteration(state, None)
        state, _ = jax.lax.scan(lambda s, _: (iteration(s, None)[0], None), state, None, length=every - 1)
        return state, (begun, increment)

    def chain(z, key):
        (z, _), kept_pairs = jax.lax.scan(stretch, (z, key), None, length=kept)
        return kept_pairs, z

    return jax.vmap(chain)(starts, keys)
