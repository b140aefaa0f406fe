"""A model and what else the data could have given: members around it, in memory and on disk."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import equinox as eqx
import numpy as np

from .._types import Result
from .coefficients import Coefficients
from .container import Container
from .files import describe, restore, weights
from .model import Model


@dataclass(frozen=True)
class Ensemble:
    """Deviations of the coefficients from those of `center`, in pairs of opposite sign.

    Attributes:
        center: The fitted model.
        deviations: Of the coefficients, one row a member; rows k and k + n/2 are opposite.
        penalised: Which coefficients have a prior.
        result: How the fit ended: members around a model that did not settle mean nothing.
    """

    center: Model
    deviations: np.ndarray
    penalised: np.ndarray
    result: Result = field(default_factory=Result)

    def __len__(self) -> int:
        return len(self.deviations)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """One model a member."""
        own = Coefficients.of(self.center.unit)
        moved = (own.dynamics(own.vector + row) for row in self.deviations)
        return tuple(eqx.tree_at(lambda m: m.unit, self.center, unit) for unit in moved)

    def save(self, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None) -> None:
        """Write center and deviations."""
        arrays = [*weights(self.center), self.deviations.astype(np.float32), self.penalised]
        ended = {"result": self.result.code, "message": self.result.message}
        header = {**describe(self.center), **ended, "provenance": provenance or {}}
        Container("ensemble", header, arrays).write(str(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Ensemble":
        """Read what `save` wrote."""
        container = Container.read(str(path), "ensemble")
        *own, deviations, penalised = container.arrays
        ended = Result(container.header.get("result", "ok"), container.header.get("message", ""))
        center = restore(container.header, own, str(path))
        return cls(center, deviations.astype(np.float64), penalised, ended)
