"""What an estimate is."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._types import Result


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, a 95 % interval and a result code.

    Attributes:
        rate: The number.
        standard_error: With everything that is uncertain.
        result: How it was found.
        upward: The part of the standard error by which the rate may be larger, but not smaller. A current
            that a fit leaves out is orthogonal to the one that it finds, so their rates add.
    """

    rate: float
    standard_error: float
    result: Result = field(default_factory=Result)
    upward: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """1.96 standard errors up, and 1.96 without what can only be upward down."""
        down = max(self.standard_error**2 - self.upward**2, 0.0) ** 0.5
        return self.rate - 1.959964 * down, self.rate + 1.959964 * self.standard_error

    def widened(self, spread: float) -> "Estimate":
        """The same value with an independent error joined to its own."""
        return replace(self, standard_error=float(np.hypot(self.standard_error, spread)))

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
