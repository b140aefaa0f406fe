"""A model and what else the data could have given: members around it, in memory and on disk."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import equinox as eqx
import numpy as np

from .._checks import InputError
from .._types import Result
from .coefficients import Coefficients
from .container import Container
from .files import describe, restore, weights
from .model import Model

# So many deviations, in both directions, are made into models; the others serve averages.
SHOWN = 16
# States that a mean over the recording needs at least.
FEWEST_RECORDED = 64


# Of the rate, beside what the deviations make of it.
ERRORS = ("hidden", "undetected", "noise_error")


@dataclass(frozen=True)
class Ensemble:
    """Deviations of the coefficients from those of `center`, each of which may have either sign.

    Attributes:
        center: The fitted model.
        deviations: Of the coefficients, a row for two members on opposite sides of the center.
        wide: The same with priors for V as wide as the data do not exclude, whether they call for it or not.
            `models` are made of these.
        constants: What is left of each row in the coefficients without a prior when the readouts of their
            component are given, and zero elsewhere.
        recorded: Recorded states in the user's coordinates, in order.
        recording_is_stationary: Whether the recording is stationary, as far as it tells.
        observed: The time that all recorded paths take together; infinite if it is not known.
        hidden: In k_B per unit time: the error of the rate from what residuals may hide.
        undetected: Likewise, what currents may dissipate that are too weak or too fine to be found.
        noise_error: By what part of itself M could be off, and so the rate.
        correction: In k_B per unit time: what residuals say that the rate over e^-V lacks, and its error.
        result: How the fit ended: members around a model that did not settle mean nothing.
        full: What `wide` deviates from: the center, with all networks put in at zero if it has none.
    """

    center: Model
    deviations: np.ndarray
    constants: np.ndarray
    wide: np.ndarray
    recorded: np.ndarray
    result: Result = field(default_factory=Result)
    hidden: float = 0.0
    undetected: float = 0.0
    noise_error: float = 0.0
    correction: tuple[float, float] = (0.0, 0.0)
    full: Model | None = None
    recording_is_stationary: bool = True
    observed: float = float("inf")

    @classmethod
    def none(cls, center: Model) -> "Ensemble":
        """Nothing known about a model."""
        nothing = np.zeros((0, len(Coefficients.of(center.unit).vector)))
        return cls(center, nothing, nothing, nothing, np.zeros((0, center.dimension)))

    def __len__(self) -> int:
        return 2 * min(len(self.deviations), SHOWN)

    @property
    def stationary(self) -> bool:
        """Whether means may be taken over recorded states: there are enough, and they are stationary."""
        return self.recording_is_stationary and len(self.recorded) >= FEWEST_RECORDED

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """One model a member; the second half lies opposite the first."""
        base, shown = self.full or self.center, self.wide[:SHOWN]
        own = Coefficients.of(base.unit)
        moved = (own.dynamics(own.vector + row) for row in (*shown, *-shown))
        return tuple(eqx.tree_at(lambda m: m.unit, base, unit) for unit in moved)

    def save(self, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None) -> None:
        """Write center and deviations."""
        rows = [part.astype(np.float32) for part in (self.deviations, self.constants, self.wide)]
        ended = {
            "result": self.result.code,
            "message": self.result.message,
            "stationary": self.recording_is_stationary,
        }
        ended |= {name: getattr(self, name) for name in ERRORS} | {"correction": list(self.correction)}
        ended["observed"] = self.observed if isfinite(self.observed) else None
        header = {**describe(self.center), **ended, "provenance": provenance or {}}
        beside = []
        if self.full is not None:
            beside, header["full"] = weights(self.full), describe(self.full)
        header["arrays_of_full"] = len(beside)
        Container("ensemble", header, [*beside, *weights(self.center), *rows, self.recorded]).write(str(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Ensemble":
        """Read what `save` wrote."""
        container = Container.read(str(path), "ensemble")
        *own, deviations, constants, wide, recorded = container.arrays
        count = container.header.get("arrays_of_full")
        if constants.shape != deviations.shape or count is None or "stationary" not in container.header:
            raise InputError(f"The ensemble in {str(path)!r} was made by an older uidd: fit the data again.")
        beside, own = own[:count], own[count:]
        full = restore(container.header["full"], beside, str(path)) if beside else None
        ended = Result(container.header.get("result", "ok"), container.header.get("message", ""))
        center = restore(container.header, own, str(path))
        rows = (part.astype(np.float64) for part in (deviations, constants, wide))
        errors = {name: float(container.header.get(name, 0.0)) for name in ERRORS}
        lacking, its_error = container.header.get("correction", (0.0, 0.0))
        return cls(
            center, *rows, recorded=recorded, result=ended, full=full, **errors,
            correction=(float(lacking), float(its_error)),
            recording_is_stationary=bool(container.header["stationary"]),
            observed=float(container.header.get("observed") or "inf"),
        )  # fmt: skip
