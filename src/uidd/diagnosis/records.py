"""What a diagnosis says."""

from dataclasses import dataclass
from typing import Any

from .._types import Result
from ..thermodynamics import Estimate
from .chains import BatchSize


@dataclass(frozen=True)
class BatchDiagnosis:
    """What the chains of one batch size show.

    Attributes:
        batch_size: Data in a batch; `full` for all of them, `given` where nothing was said.
        rate: The entropy production in k_B per unit time (of `step`), from products of independent parts.
        plug_in: The same from squares; noise adds to it.
        chance: How often chains in detailed balance would show as large a rate.
        broken: Whether that is below the level.
        fisher_information: E |grad L - grad V|^2 between the chains' density e^-V and the full batch's e^-L;
            nothing where the noise was not given.
        discrepancy: The maximum mean discrepancy to the draws of the full batch, where these were given.
        pairs: Successive draws that it rests on.
        parts: Independent parts that they were divided into.
        notes: What limits it, worst first.
    """

    batch_size: BatchSize
    rate: Estimate
    plug_in: float
    chance: float
    broken: bool
    fisher_information: Estimate | None
    discrepancy: Estimate | None
    pairs: int
    parts: int
    notes: tuple[Result, ...] = ()

    @property
    def bias(self) -> float:
        """What noise adds to the plug-in."""
        return self.plug_in - self.rate.rate

    @property
    def significance(self) -> float:
        """1 - chance."""
        return 1 - self.chance

    @property
    def result(self) -> Result:
        """The worst of the notes."""
        return self.notes[0] if self.notes else Result()

    def to_dict(self) -> dict[str, Any]:
        """As in `diagnosis.json`."""
        others = {"fisher_information": self.fisher_information, "discrepancy": self.discrepancy}
        return {
            "batch_size": self.batch_size,
            "entropy_production": self.rate.to_dict(),
            "plug_in": self.plug_in,
            "bias": self.bias,
            "chance": self.chance,
            "broken": self.broken,
            **{name: None if each is None else each.to_dict() for name, each in others.items()},
            "pairs": self.pairs,
            "parts": self.parts,
            "notes": [{"code": note.code, "message": note.message} for note in self.notes],
        }


@dataclass(frozen=True)
class SamplerDiagnosis:
    """What chains show, batch size by batch size, and which batch size that recommends.

    Attributes:
        batches: Smallest first, the full batch last.
        recommended: The smallest batch size from which on nothing differs from the largest; None where there
            is nothing to compare.
        recommendation: The same in one or two sentences.
        level: Of all tests.
        step: The time of one iteration.
    """

    batches: tuple[BatchDiagnosis, ...]
    recommended: BatchSize | None
    recommendation: str
    level: float
    step: float

    @property
    def result(self) -> Result:
        """The first note of any batch size, with the sizes that it is about."""
        first = next((batch.result for batch in self.batches if batch.notes), None)
        if first is None:
            return Result()
        sizes = [str(batch.batch_size) for batch in self.batches if first.code in map(_code, batch.notes)]
        return Result(first.code, f"{first.message} (batch size {', '.join(sizes)})")

    def to_dict(self) -> dict[str, Any]:
        """As in `diagnosis.json`."""
        return {
            "batches": [batch.to_dict() for batch in self.batches],
            "recommended": self.recommended,
            "recommendation": self.recommendation,
            "level": self.level,
            "step": self.step,
            "result": {"code": self.result.code, "message": self.result.message},
        }

    def __str__(self) -> str:
        head = (
            "batch size",
            "entropy production",
            "plug-in",
            "chance",
            "detailed balance",
            "Fisher information",
        )
        rows = [head, *map(_row, self.batches)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
        notes = {note.code: note for batch in self.batches for note in batch.notes}
        return "\n".join([*lines, self.recommendation, *map(str, notes.values())])


def _code(note: Result) -> str:
    return note.code


def _row(batch: BatchDiagnosis) -> tuple[str, ...]:
    return (
        str(batch.batch_size),
        _with_error(batch.rate),
        f"{batch.plug_in:.3g}",
        f"{batch.chance:.2g}",
        ("broken" if batch.broken else "not seen broken") + "?" * ("not_resolved" in map(_code, batch.notes)),
        "-" if batch.fisher_information is None else _with_error(batch.fisher_information),
    )


def _with_error(value: Estimate) -> str:
    return f"{value.rate:.3g} +- {value.standard_error:.2g}"
