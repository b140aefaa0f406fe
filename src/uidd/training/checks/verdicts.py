"""What `fit.checks` holds: one verdict for each assumption of a fit."""

from dataclasses import dataclass, replace
from typing import Any

from ..._types import Result

# Of one line's complaint about a good fit.
LARGEST_CHANCE = 2e-4
# In kT: a misfit that could change V by less is real, but too small to matter.
SMALL = 0.15
ADVICE = {
    "drift": "The drift of the model is not that of the data: give more data, or a wider architecture.",
    "noise": "The noise varies with the state in another way than the model's: is a coordinate missing?",
    "memory": "Residuals of successive steps are correlated: measurement noise, a hidden coordinate or "
    "inertia. Use every n-th frame, or record more coordinates.",
    "coarse": "Frames are so far apart that the model's own steps are not Gaussian: record more often.",
    "tails": "Residuals are not Gaussian: jumps, outliers, or paths that fall back from far out. Look at the "
    "largest steps, and leave out what is a mistake or lies far from where the system rests.",
    "not_stationary": "Residuals change in the course of the recording: the system does. Fit parts of it.",
    "density": "Recorded states do not lie as e^-V says: V is wrong, or they are not stationary after all. "
    "Give longer paths, which tell how fast the system relaxes.",
    "work": "The work of the learned current along paths that it was not fitted to differs from its square.",
}


@dataclass(frozen=True)
class Check:
    """One assumption.

    Attributes:
        name: `coarse`, `drift`, `noise`, `memory`, `tails`, `not_stationary`, `work` or, where the recording
            is stationary, `density`.
        verdict: `ok`, `small` (real, but too small to matter) or the name.
        chance: The probability, or a bound on it, of as large a misfit if the model is right.
        size: By how much V could be off, in kT; of `work`, by how much the rate, in k_B per unit time.
        advice: What to do, where the verdict is the name.
    """

    name: str
    verdict: str
    chance: float
    size: float
    advice: str

    @property
    def passed(self) -> bool:
        """Whether the answer can be believed as far as this line goes."""
        return self.verdict in ("ok", "small")

    @property
    def off(self) -> str:
        """The size in words; of a misfit that was not found it is noise, and is not told."""
        unit = "k_B per unit time" if self.name == "work" else "kT"
        return "" if self.verdict == "ok" else f"{self.size:.2g} {unit}"

    def __str__(self) -> str:
        size = f", size {self.off}" if self.off else ""
        words = f"{self.name}: {self.verdict} (chance {self.chance:.2g}{size})"
        return words if self.passed else f"{words}. {self.advice}"


def line(name: str, chance: float, size: float) -> Check:
    """What is found so rarely in good fits is real, and complains if it is large enough to matter."""
    found = chance < LARGEST_CHANCE
    verdict = "ok" if not found else "small" if size < SMALL else name
    return Check(name, verdict, float(chance), float(size), ADVICE[name])


@dataclass(frozen=True)
class Checks:
    """All lines; reads as a tuple of them.

    Attributes:
        lines: One an assumption.
        hidden: In k_B per unit time: what a current could dissipate that residuals hide.
        noise_error: By what part of itself M is off, as far as that is real.
    """

    lines: tuple[Check, ...] = ()
    hidden: float = 0.0
    noise_error: float = 0.0

    def __iter__(self):
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def beside(self, one: Check) -> "Checks":
        """With one line more."""
        return replace(self, lines=(*self.lines, one))

    @property
    def result(self) -> Result:
        """`ok` if all pass, else the first that does not."""
        for line in self.lines:
            if not line.passed:
                return Result(line.name, f"{line.advice} (chance {line.chance:.1g}, size {line.size:.2g})")
        return Result()

    def to_dict(self) -> list[dict[str, Any]]:
        """As in `metrics.json`."""
        return [vars(line) for line in self.lines]

    @classmethod
    def from_dicts(cls, lines: list[dict[str, Any]]) -> "Checks":
        """The inverse."""
        return cls(tuple(Check(**line) for line in lines))

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))
