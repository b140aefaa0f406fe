"""A stage of the search, as it is kept in a checkpoint."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .gains import Gain
from .history import EpochRecord


@dataclass(frozen=True)
class Leg:
    """A stage of the search and all that the next one needs.

    Attributes:
        name: `start`, `drift`, `few` or `all`.
        on: The components whose networks are in the model.
        vector: The coefficients.
        precision: Of the priors.
        reference: V's coefficients in what W refers to; none before there is one.
        scheme: Steps and order of the likelihood; None if it was given.
        tests: Whether the drift bends and the noise varies.
        history: So far.
    """

    name: str
    on: tuple[str, ...]
    vector: np.ndarray
    precision: np.ndarray
    reference: np.ndarray
    scheme: tuple[int, int] | None
    tests: tuple[Gain, ...]
    history: tuple[EpochRecord, ...]

    def to_container(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Words and numbers, and arrays."""
        plain = {
            "name": self.name,
            "on": list(self.on),
            "scheme": self.scheme,
            "tests": [asdict(test) for test in self.tests],
            "history": [asdict(record) for record in self.history],
        }
        return plain, [self.vector, self.precision, self.reference]

    @classmethod
    def from_container(cls, stored: tuple[dict[str, Any], list[np.ndarray]]) -> "Leg":
        """The inverse."""
        plain, (vector, precision, reference) = stored
        return cls(
            name=plain["name"],
            on=tuple(plain["on"]),
            vector=vector,
            precision=precision,
            reference=reference,
            scheme=tuple(plain["scheme"]) if plain["scheme"] else None,
            tests=tuple(Gain(**test) for test in plain["tests"]),
            history=tuple(EpochRecord(**record) for record in plain["history"]),
        )
