"""Shape aliases, and the result code that every step returns."""

from dataclasses import dataclass

from jaxtyping import Array, Float
from numpy.typing import ArrayLike

Scalar = Float[Array, ""]
State = Float[Array, " D"]
Matrix = Float[Array, "D D"]
States = Float[Array, "n D"]

__all__ = ["ArrayLike", "Matrix", "Result", "Scalar", "State", "States"]


@dataclass(frozen=True)
class Result:
    """How a computation ended: a short code for programs, a sentence for people.

    `ok` is the only code that means success.
    """

    code: str = "ok"
    message: str = ""

    @property
    def successful(self) -> bool:
        """Whether the computation did what was asked of it."""
        return self.code == "ok"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code
