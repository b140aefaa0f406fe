"""From the gradient of a loss to a sampler."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray, PyTree

from ..._checks import fail, numbers, one_of, positive, whole_number
from ..._types import Matrix, State
from .forces import Negative
from .sampler import Sampler, known_batch_size


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
    """z' = z - step [(n / b) sum_{i in batch} loss_grad(z, datum_i) + prior_grad(z)] + sqrt(noise step) xi.

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

    >>> chain = sgld(lambda z, x: z - x, jnp.array([[1.0], [3.0]]), 1, 0.01, dimension=1)
    >>> chain.run(4, 100, every=10, seed=0).start.shape
    (4, 10, 1)
    """
    if not callable(loss_grad):
        fail("loss_grad", "a function of a state and a datum", repr(loss_grad), "Use jax.grad(loss).")
    arrays, n = _counted(data)
    if start is None:
        start = StandardNormal(whole_number("dimension", dimension))
    _check_gradient("loss_grad", loss_grad, start, jax.tree.map(lambda part: part[0], arrays))
    if prior_grad is not None:
        _check_gradient("prior_grad", prior_grad, start)
    return Sampler(
        force=Negative(loss_grad),
        common=None if prior_grad is None else Negative(prior_grad),
        noise=noise if callable(noise) else positive("noise", noise),
        start=start,
        data=arrays,
        scale=float(n) if one_of("reduction", reduction, ("sum", "mean")) == "sum" else 1.0,
        batch_size=known_batch_size(batch_size, n),
        step=positive("step", step),
        replacement=replacement,
    )


class StandardNormal(eqx.Module):
    """A state of independent standard normal numbers, shifted and widened."""

    dimension: int = eqx.field(static=True)
    mean: float = 0.0
    deviation: float = 1.0

    def __call__(self, key: PRNGKeyArray) -> State:
        """Draw it."""
        return self.mean + self.deviation * jax.random.normal(key, (self.dimension,))


def _counted(data: Any) -> tuple[PyTree, int]:
    arrays = jax.tree.map(
        lambda part: jnp.asarray(numbers("data", part, "arrays of numbers"), jnp.result_type(float)), data
    )
    lengths = sorted({len(part) if part.ndim else 0 for part in jax.tree.leaves(arrays)})
    if len(lengths) != 1 or not lengths[0]:
        fail("data", "arrays with one first axis that counts the data", f"lengths {lengths}")
    return arrays, lengths[0]


def _check_gradient(name: str, gradient: Callable[..., State], start: Callable, *datum: PyTree) -> None:
    state = jax.eval_shape(start, jax.random.key(0))
    given = "a state and a datum" if datum else "a state"
    must = f"a function of {given} with values of the state's shape {state.shape}"
    try:
        found = jax.eval_shape(gradient, state, *datum)
    except Exception as error:  # whatever the user's function does with what it is given
        fail(name, must, f"{type(error).__name__}: {str(error).splitlines()[0]}", "Use jax.grad of a loss.")
    if not isinstance(found, jax.ShapeDtypeStruct) or found.shape != state.shape:
        fail(name, must, found, "Use jax.grad of a loss.")
