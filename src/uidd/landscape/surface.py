"""A potential, looked at in many places at once: JAX evaluates, NumPy decides what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail, numbers
from .._programs import compiled
from .._types import State
from ..models import Ensemble, Model
from .records import StationaryPoint

Potential = Callable[[State], Any]

# Batches are filled up to such sizes, so that few programs are compiled.
SMALLEST_BATCH = 16
MOST_AT_ONCE = 4096


class Local(NamedTuple):
    """Energy, gradient and Hessian, of one state or of many."""

    energy: Any
    gradient: Any
    hessian: Any


@dataclass(frozen=True)
class Surface:
    """A potential in coordinates y = (z - center) / spread, in which one step length serves all.

    Everything is evaluated in double precision: a learned potential is smooth, though its weights are
    single, and a stationary point is where differences of its values vanish.

    Attributes:
        potential: z -> float.
        center: Of the coordinates.
        spread: Their scale.
    """

    potential: Potential
    center: np.ndarray
    spread: np.ndarray

    @classmethod
    def around(cls, potential: Potential, states: np.ndarray) -> "Surface":
        """Scaled by where the states lie; a coordinate in which they agree, as the others on average."""
        center, spread = states.mean(axis=0), states.std(axis=0)
        known = spread > 1e-9 * np.abs(center)
        usual = spread[known].mean() if known.any() else np.maximum(np.abs(center), 1.0)
        return cls(potential, center, np.where(known, spread, usual))

    def inward(self, z: np.ndarray) -> np.ndarray:
        """z -> y."""
        return (np.asarray(z, np.float64) - self.center) / self.spread

    def outward(self, y: np.ndarray) -> np.ndarray:
        """y -> z."""
        return self.center + self.spread * np.asarray(y)

    def energies(self, y: np.ndarray) -> np.ndarray:
        """V, for states (n, D)."""
        return self.mapped(_energies, y)

    def local(self, y: np.ndarray) -> Local:
        """V, dV/dy and its Hessian, for states (n, D)."""
        return Local(*self.mapped(_local, y))

    def mapped(self, program: Callable[..., Any], *arrays: np.ndarray) -> Any:
        """`program(energy, *one)` for every row of the arrays, some thousands at once."""
        parts, rows = [], len(arrays[0])
        for first in range(0, rows, MOST_AT_ONCE):
            count = min(MOST_AT_ONCE, rows - first)
            size = max(SMALLEST_BATCH, 1 << (count - 1).bit_length())
            index = first + np.minimum(np.arange(size), count - 1)
            filled = tuple(np.asarray(array, np.float64)[index] for array in arrays)
            with jax.enable_x64(True):
                found = _run(program, self.potential, self.center, self.spread, filled)
                parts.append(jax.tree.map(lambda part, n=count: np.asarray(part, np.float64)[:n], found))
        return jax.tree.map(lambda *each: np.concatenate(each), *parts)


def _energies(energy, y):
    return energy(y)


def _local(energy, y):
    value, gradient = jax.value_and_grad(energy)(y)
    return value, gradient, jax.hessian(energy)(y)


@compiled
def _run(program, potential, center, spread, arrays):
    def energy(y):
        return jnp.asarray(potential(center + spread * y)).reshape(())

    return jax.vmap(lambda *one: program(energy, *one))(*arrays)


def center_of(potential: Any) -> tuple[Potential, tuple[Potential, ...], np.ndarray | None]:
    """The function that is meant, what else the data could have given, and states to start from.

    A fit and an ensemble stand for their model with its members, a model, a baseline or known dynamics for
    their potential, and any function for itself.
    """
    potential = getattr(potential, "ensemble", potential)
    if isinstance(potential, Ensemble):
        members = tuple(model.potential for model in potential.models)
        return potential.center.potential, members, np.asarray(potential.center.anchors)
    owner = getattr(potential, "model", potential)
    function = getattr(owner, "potential", owner)
    if not callable(function):
        name = type(potential).__name__
        fail("potential", "a function of one state, a model or a fit", name, "Give model.potential.")
    owner = getattr(function, "__self__", None)
    return function, (), np.asarray(owner.anchors) if isinstance(owner, Model) else None


def states_from(name: str, states: Any) -> np.ndarray:
    """Finite states (n, D)."""
    wanted = "finite states of shape (n, D)"
    if isinstance(states, StationaryPoint):
        states = states.x[None]
    array = numbers(name, states, wanted)
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        fail(name, wanted, f"shape {array.shape}")
    return array
