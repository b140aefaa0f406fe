"""Chains in whatever form they come: arrays, ArviZ or xarray objects, one set of them a batch size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import fail, numbers, whole_number

FULL, GIVEN = "full", "given"
# The name of the chains of full batches, the name of chains of which nothing is said, or a number of data.
BatchSize = int | str


@dataclass(frozen=True)
class Chains:
    """Draws of one sampler.

    Attributes:
        states: Of shape (chains, draws, D).
        coordinates: Their names.
    """

    states: np.ndarray
    coordinates: tuple[str, ...]

    @classmethod
    def of(cls, value: Any, name: str = "chains") -> "Chains":
        """From an array (chains, draws, D), one chain (draws, D), or a posterior of ArviZ or xarray."""
        if isinstance(value, Chains):
            return value
        group = _posterior(value)
        found = cls._of_array(value, name) if group is None else cls._of_group(group, name)
        if not np.isfinite(found.states).all():
            lost = int((~np.isfinite(found.states).all(axis=(1, 2))).sum())
            fail(
                name,
                "finite numbers",
                f"NaN or infinity in {lost} of {len(found.states)} chains",
                "Leave them out.",
            )
        if found.states.shape[1] < 2 or not found.states.size:
            fail(name, "chains of at least two draws", f"shape {found.states.shape}")
        return found

    @classmethod
    def _of_array(cls, value: Any, name: str) -> "Chains":
        must = "an array (chains, draws, D), or (draws, D) for one chain"
        states = numbers(name, value, must)
        if states.ndim == 2:
            states = states[None]
        if states.ndim != 3:
            fail(name, must, f"shape {states.shape}", "One coordinate has the shape (chains, draws, 1).")
        return cls(states, tuple(f"z{d + 1}" for d in range(states.shape[2])))

    @classmethod
    def _of_group(cls, group: Any, name: str) -> "Chains":
        columns, names = [], []
        for label, variable in group.data_vars.items():
            if {"chain", "draw"} <= set(variable.dims):
                values = numbers(
                    name, variable.transpose("chain", "draw", ...).values, f"numbers in '{label}'"
                )
                inner = values.shape[2:]
                columns.append(values.reshape(*values.shape[:2], -1))
                places = [f"[{', '.join(map(str, place))}]" for place in np.ndindex(inner)] if inner else [""]
                names += [f"{label}{place}" for place in places]
        if not columns:
            fail(name, "a posterior with variables over the dimensions chain and draw", "none")
        return cls(np.concatenate(columns, axis=2), tuple(names))

    def without_start(self, burn_in: float) -> "Chains":
        """Without that share of every chain's draws."""
        return Chains(self.states[:, int(burn_in * self.states.shape[1]) :], self.coordinates)


def by_batch_size(value: Any) -> dict[BatchSize, Chains]:
    """One set of chains a batch size, smallest first and the full batch last."""
    if not isinstance(value, Mapping) or _posterior(value) is not None:
        return {GIVEN: Chains.of(value)}
    if not value:
        fail("chains", "at least one set of chains", "an empty mapping")
    found = {batch_size(key): Chains.of(each, f"chains[{key!r}]") for key, each in value.items()}
    if len(found) < len(value):
        fail("chains", "one set of chains a batch size", f"the keys {list(value)}")
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def batch_size(key: Any) -> BatchSize:
    """A number of data, or `full`; from a name such as `64`, `b64`, `batch_64`.

    >>> batch_size("b64"), batch_size(None)
    (64, 'full')
    """
    if key is None or key == FULL:
        return FULL
    if isinstance(key, str):
        match = re.fullmatch(r"(?:b|batch|batch_size)?[ _=-]?(\d+)", key.strip(), re.IGNORECASE)
        if not match:
            fail("batch size", "a whole number, or 'full'", repr(key), "Name arrays as in `b64`, or `full`.")
        key = int(match[1])
    return whole_number("batch size", key)


def order(size: BatchSize) -> float:
    """Numbers as they are, the full batch above all."""
    return float("inf") if isinstance(size, str) else float(size)


def _posterior(value: Any) -> Any:
    """The posterior of ArviZ's `InferenceData` (or the tree of ArviZ 1), or a dataset itself; else nothing.

    Known by what they hold, so that neither package is imported.
    """
    if isinstance(value, np.ndarray):
        return None
    group = getattr(value, "posterior", None)
    if group is None and isinstance(value, Mapping) and "posterior" in value:
        group = value["posterior"]
    if group is None:
        group = value
    return group if isinstance(getattr(group, "data_vars", None), Mapping) else None
