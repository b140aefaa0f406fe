"""From rates to a batch size."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from .chains import FULL, BatchSize
from .records import BatchDiagnosis


def recommend(batches: Sequence[BatchDiagnosis], level: float) -> tuple[BatchSize | None, str]:
    """The smallest batch size from which on no rate differs from the largest's, and why.

    Two rates differ if their difference is beyond Student's quantile times its error, or if detailed
    balance is seen broken at one and not at the largest.
    """
    *smaller, largest = batches
    name = _named(largest.batch_size)
    if not smaller:
        if largest.broken:
            return None, f"Detailed balance is broken: the entropy production is {largest.rate}."
        return None, f"No breaking of detailed balance is seen: the entropy production is {largest.rate}."
    chosen = largest
    for batch in reversed(smaller):
        if differs(batch, largest, level):
            break
        chosen = batch
    resolved = _quantile(chosen, largest, level) * np.hypot(
        chosen.rate.standard_error, largest.rate.standard_error
    )
    if chosen is largest:
        words = (
            f"No smaller batch size will do: already the next one differs from {name} in entropy production."
        )
    else:
        words = (
            f"Batch size {chosen.batch_size} is enough: from it on the entropy production does not differ "
            f"from that of {name}. A difference below {resolved:.2g} per unit time would not have been seen."
        )
    density = chosen.fisher_information
    if chosen is not largest and density is not None and density.rate > 3 * density.standard_error:
        words += f" Its density is still off the full batch's: the relative Fisher information is {density}."
    if largest.broken:
        words += f" Detailed balance is broken even at {name}."
    return chosen.batch_size, words


def differs(one: BatchDiagnosis, other: BatchDiagnosis, level: float) -> bool:
    """Whether two rates differ at the level."""
    error = np.hypot(one.rate.standard_error, other.rate.standard_error)
    apart = abs(one.rate.rate - other.rate.rate) > _quantile(one, other, level) * error
    return bool(apart or (one.broken and not other.broken))


def _quantile(one: BatchDiagnosis, other: BatchDiagnosis, level: float) -> float:
    """Of Student's distribution, two-sided, with the degrees of freedom of Welch and Satterthwaite."""
    a, b = one.rate.standard_error**2, other.rate.standard_error**2
    freedom = (a + b) ** 2 / max(a**2 / (one.parts - 1) + b**2 / (other.parts - 1), 1e-300)
    return float(student.isf(level / 2, max(freedom, 1.0)))


def _named(size: BatchSize) -> str:
    return "the full batch" if size == FULL else f"batch size {size}"
