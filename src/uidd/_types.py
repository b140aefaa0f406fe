"""Shape aliases, and the result code that every step returns."""

from dataclasses import dataclass

from jaxtyping import Array, Float

Scalar = Float[Array, ""]
State = Float[Array, " D"]
Matrix = Float[Array, "D D"]

__all__ = ["Matrix", "Result", "Scalar", "State"]


@dataclass(frozen=True, eq=False)
class Result:
    """How a computation ended: a short code for programs, a sentence for people.

    `ok` is the only code that means success. A result equals its code, and every other with that code:

    >>> Result("not_mixed", "The chains disagree.") == "not_mixed"
    True
    """

    code: str = "ok"
    message: str = ""

    @property
    def successful(self) -> bool:
        """Whether the computation did what was asked of it."""
        return self.code == "ok"

    def __eq__(self, other: object) -> bool:
        return self.code == (other.code if isinstance(other, Result) else other)

    def __hash__(self) -> int:
        return hash(self.code)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code
