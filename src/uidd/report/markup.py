"""Pieces of HTML. Whatever comes from outside passes through `text`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ..models import Model

_CODES = {
    "ok": "ok",
    "still_improving": "still improving",
    "interrupted": "interrupted",
    "not_finite": "not finite",
    "not_mixed": "chains disagree",
    "not_judged": "not judged",
    "unpaired": "too few reverse transitions",
    "diverged": "diverged",
}


@dataclass(frozen=True)
class Panel:
    """A figure with title and caption; without a figure the caption says why there is none."""

    title: str
    caption: str
    figure: "go.Figure | None"


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, panels in rows of `columns`, and what follows them. All but panels is HTML."""

    title: str
    intro: str
    panels: tuple[Panel, ...] = ()
    columns: str = "two"
    after: str = ""


def text(value: object) -> str:
    """`value` as text that cannot be read as markup.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return escape(str(value))


def words(code: str) -> str:
    """A result code in words.

    >>> words("not_mixed")
    'chains disagree'
    """
    return text(_CODES.get(code, code.replace("_", " ")))


def number(value: float | None, digits: int = 4) -> str:
    """A rounded number, with a power of ten where it is very large or small.

    >>> number(0.0000123), number(47.05981), number(123456.7)
    ('1.23 × 10<sup>−5</sup>', '47.06', '123457')
    """
    if value is None or not math.isfinite(value):
        return "not finite"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if -4 <= exponent < 6:
        plain = f"{value:.{max(0, digits - 1 - exponent)}f}"
        return _signed(plain.rstrip("0").rstrip(".") if "." in plain else plain)
    mantissa = f"{value / 10.0**exponent:.{digits - 1}f}".rstrip("0").rstrip(".")
    return f"{_signed(mantissa)} × 10<sup>{_signed(str(exponent))}</sup>"


def measured(value: float, error: float) -> str:
    """`value`, with as many digits as its error warrants.

    >>> measured(47.41312, 0.387)
    '47.41'
    """
    if not (math.isfinite(value) and math.isfinite(error)) or error <= 0 or value == 0:
        return number(value)
    decimals = 1 - math.floor(math.log10(error))
    if decimals < 0 or decimals > 6:
        return number(value)
    return _signed(f"{value:.{decimals}f}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, label: str) -> str:
    """A table of HTML cells; the first column is text, the others are numbers."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table aria-label="{text(label)}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def rate_unit(model: "Model") -> str:
    """k_B per unit of time, in HTML that Plotly reads too."""
    return f"k<sub>B</sub> per {text(model.time_unit)}" if model.time_unit else "k<sub>B</sub> per unit time"


def _signed(plain: str) -> str:
    return plain.replace("-", "−")
