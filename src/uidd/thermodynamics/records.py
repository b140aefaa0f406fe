"""What an estimate is."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._types import Result


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, a 95 % interval and a result code."""

    rate: float
    standard_error: float
    result: Result = field(default_factory=Result)

    @property
    def interval(self) -> tuple[float, float]:
        """rate -+ 1.96 standard errors."""
        half = 1.959964 * self.standard_error
        return self.rate - half, self.rate + half

    def widened(self, spread: float) -> "Estimate":
        """The same value with an independent error joined to its own."""
        return Estimate(self.rate, float(np.hypot(self.standard_error, spread)), self.result)

    def to_dict(self) -> dict[str, Any]:
        """As in `metrics.json`; what is not finite becomes null, and the result says why."""
        low, high = self.interval
        return {
            "rate": _finite(self.rate),
            "standard_error": _finite(self.standard_error),
            "interval": [_finite(low), _finite(high)],
            "result": self.result.code,
            "message": self.result.message,
        }

    def __str__(self) -> str:
        return f"{self.rate:.5g} +- {self.standard_error:.2g}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
