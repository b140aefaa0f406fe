"""A stage of the search, as it is kept in a checkpoint."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from ..history import EpochRecord
from ..regression.gains import Gain
from ..solvers.posterior import Solution

# Where nobody asked, or the answer no longer counts.
NO_NOISE_TEST = Gain("noise", "", 0.0, 1.0)


@dataclass(frozen=True)
class Stage:
    """A stage of the search and all that the next one needs.

    Attributes:
        name: `start`, `drift`, `few` or `all`.
        networks: The components whose networks are in the model.
        vector: The coefficients.
        precision: Of the priors.
        reference: V's coefficients in what W refers to; none before there is one.
        scheme: Steps and order of the likelihood; None if it was given.
        tests: Whether the drift is nonlinear and the noise varies.
        history: So far.
        solution: Of the last stage: the coefficients, and what is known of them.
    """

    name: str
    networks: tuple[str, ...]
    vector: np.ndarray
    precision: np.ndarray
    reference: np.ndarray
    scheme: tuple[int, int] | None
    tests: tuple[Gain, ...]
    history: tuple[EpochRecord, ...]
    solution: Solution | None = None

    @classmethod
    def start(
        cls,
        networks: tuple[str, ...],
        coefficients: Coefficients,
        scheme: tuple[int, int] | None,
        tests: tuple[Gain, ...],
        record: EpochRecord,
    ) -> "Stage":
        """Before anything has moved."""
        return cls(
            "start", networks, coefficients.vector, coefficients.usual_precision, np.zeros(0), scheme, tests,
            (record,),
        )  # fmt: skip

    def with_networks(self, networks: tuple[str, ...], coefficients: Coefficients) -> "Stage":
        """The same with other networks, all coefficients as they are in those."""
        return replace(
            self,
            networks=tuple(name for name in COMPONENTS if name in networks),
            vector=coefficients.vector,
            precision=coefficients.usual_precision,
        )

    def with_noise_test(self, test: Gain) -> "Stage":
        """The same with another answer to whether the noise varies."""
        return replace(self, tests=tuple(test if each.what == "noise" else each for each in self.tests))

    def to_container(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Words and numbers, and arrays."""
        plain: dict[str, Any] = {
            "name": self.name,
            "networks": list(self.networks),
            "scheme": self.scheme,
            "tests": [asdict(test) for test in self.tests],
            "history": [asdict(record) for record in self.history],
        }
        arrays = [self.vector, self.precision, self.reference]
        if self.solution is not None:
            plain["solution"], beside = self.solution.to_container()
            arrays += beside
        return plain, arrays

    @classmethod
    def from_container(cls, plain: dict[str, Any], arrays: list[np.ndarray]) -> "Stage":
        """The inverse."""
        vector, precision, reference, *rest = arrays
        known = plain.get("solution")
        solution = None if known is None else Solution.from_container(known, vector, precision, rest)
        return cls(
            name=plain["name"],
            networks=tuple(plain["networks"]),
            vector=vector,
            precision=precision,
            reference=reference,
            scheme=tuple(plain["scheme"]) if plain["scheme"] else None,
            tests=tuple(Gain(**test) for test in plain["tests"]),
            history=tuple(EpochRecord(**record) for record in plain["history"]),
            solution=solution,
        )
