"""A chain that follows mini-batch gradients and noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..._checks import fail, one_of, positive, whole_number
from ..._programs import compiled
from ..._types import Matrix, State
from ...data import Transitions

# Chains that are moved at once: what bounds the memory.
CHUNK = 8192


@dataclass(frozen=True)
class Run:
    """What is kept of chains: every so many iterations the state and the step made from it.

    Attributes:
        start: Z_k, of shape (chains, kept, D).
        increment: Z_{k+1} - Z_k, of the same shape.
        last: The states after the last iteration.
        step: The time of one iteration.
    """

    start: np.ndarray
    increment: np.ndarray
    last: np.ndarray
    step: float

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
        return replace(self, batch_size=_batch(batch_size, self.count))

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
        report: Callable[[int], None] = lambda _: None,
    ) -> Run:
        """Chains from their own starts; the state and the step from it are kept every so many iterations.

        Nothing else is stored, and `CHUNK` chains are moved at once. A chain depends on the seed and its
        number alone.

        Args:
            chains: How many.
            iterations: Of every chain, a multiple of `every`.
            every: Iterations between two that are kept.
            start: One state for all chains or one each, in place of the sampler's own.
            seed: Of starts, batches and noise.
            report: Told how many chains are done.
        """
        whole_number("chains", chains)
        whole_number("seed", seed, least=0)
        if whole_number("iterations", iterations) % whole_number("every", every):
            fail("iterations", f"a multiple of `every`, {every}", iterations)
        parts = []
        for first in range(0, chains, CHUNK):
            numbers = np.arange(first, min(first + CHUNK, chains))
            keys = jax.vmap(lambda c: jax.random.fold_in(jax.random.key(seed), c))(numbers)
            starts, keys = _begun(self, keys)
            if start is not None:
                starts = jnp.broadcast_to(jnp.asarray(start, starts.dtype), (chains, starts.shape[1]))[numbers]
            parts.append(jax.tree.map(np.asarray, _moved(self, starts, keys, iterations // every, every)))
            report(int(numbers[-1]) + 1)
        kept, last = (jax.tree.map(lambda *each: np.concatenate(each), *some) for some in zip(*parts, strict=True))
        run = Run(*kept, last, self.step)
        if not np.isfinite(last).all():
            lost = int((~np.isfinite(last).all(axis=1)).sum())
            fail("step", "small enough for the chains to stay finite", self.step, f"{lost} of {chains} diverged.")
        return run

    def _batch(self, key: PRNGKeyArray) -> PyTree:
        n, b = self.count, self.batch_size
        if b is None:
            return self.data
        chosen = jax.random.randint(key, (b,), 0, n) if self.replacement else jax.random.permutation(key, n)[:b]
        return jax.tree.map(lambda part: part[chosen], self.data)


def sgld(
    loss_grad: Callable[[State, PyTree], State],
    data: Any,
    batch_size: int | None,
    step: float,
    noise: float | Callable[[State], Matrix] = 2.0,
    *,
    dimension: int | None = None,
    prior_grad: Callable[[State], State] | None = None,
    reduction: str = "sum",
    start: Callable[[PRNGKeyArray], State] | None = None,
    replacement: bool = True,
) -> Sampler:
    """z' = z - step * (n / b) sum_{i in batch} loss_grad(z, datum_i) - step * prior_grad(z) + sqrt(noise step) xi.

    Args:
        loss_grad: The gradient of one datum's loss, such as `jax.grad(loss)` with `loss(z, datum)`.
        data: An array, or a tuple or other tree of arrays, whose first axis counts the data.
        batch_size: Data in a batch; None takes all.
        step: The learning rate, which is also the time of an iteration.
        noise: The variance of the noise per unit time, 2 for SGLD; or from a state to a matrix R with R R^T
            that variance.
        dimension: Of the state, for the default start.
        prior_grad: The gradient of minus the log-prior.
        reduction: `sum`, as above, or `mean`, without the n.
        start: From a key to the first state; by default standard normal.
        replacement: Whether a datum can be in a batch twice.

    >>> chain = sgld(lambda z, x: z - x, np.array([[1.0], [3.0]]), 1, 0.01, dimension=1)
    >>> chain.run(4, 100, every=10, seed=0).start.shape
    (4, 10, 1)
    """
    if not callable(loss_grad):
        fail("loss_grad", "a function of a state and a datum", repr(loss_grad), "Use jax.grad(loss).")
    arrays = jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float)), data)
    lengths = {len(part) for part in jax.tree.leaves(arrays) if part.ndim}
    if len(lengths) != 1 or not lengths.copy().pop():
        fail("data", "arrays with one first axis that counts the data", f"lengths {sorted(lengths)}")
    (n,) = lengths
    if start is None:
        start = StandardNormal(whole_number("dimension", dimension))
    return Sampler(
        force=Negative(loss_grad),
        common=None if prior_grad is None else Negative(prior_grad),
        noise=noise if callable(noise) else positive("noise", noise),
        start=start,
        data=arrays,
        scale=float(n) if one_of("reduction", reduction, ("sum", "mean")) == "sum" else 1.0,
        batch_size=_batch(batch_size, n),
        step=positive("step", step),
        replacement=replacement,
    )


class Negative(eqx.Module):
    """-g."""

    gradient: Callable[..., State]

    def __call__(self, *where: Any) -> State:
        """At a state, and a datum."""
        return -self.gradient(*where)


class StandardNormal(eqx.Module):
    """A state of independent standard normal numbers, shifted and widened."""

    dimension: int = eqx.field(static=True)
    mean: float = 0.0
    deviation: float = 1.0

    def __call__(self, key: PRNGKeyArray) -> State:
        """Draw it."""
        return self.mean + self.deviation * jax.random.normal(key, (self.dimension,))


def _batch(batch_size: int | None, n: int) -> int | None:
    if batch_size is None:
        return None
    if whole_number("batch_size", batch_size) > n:
        fail("batch_size", f"at most the number of data, {n}", batch_size, "None takes all of them.")
    return int(batch_size)


@compiled
def _begun(sampler: Sampler, keys: PRNGKeyArray):
    start_keys, keys = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    return jax.vmap(sampler.start)(start_keys), keys


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
