"""`.csv` and `.tsv`: text, one line a frame."""

import csv
import io
import re
from collections import Counter
from pathlib import Path

from ..._checks import fail
from .reading import one_sentence
from .tables import MISSING, Table, with_nulls

_KIND = "a table in text form (one line a frame, the same number of cells in every line)"


def read(path: Path) -> Table:
    """The columns of a text table, as text, under the names of its header.

    Lines at the top that are empty or start with `#` are skipped. The separator is the first of tab,
    semicolon and comma that the first line holds; with semicolons, a comma in a number is a decimal
    comma. A first line of numbers means that there is no header: the names are then those in the
    last comment if it has one for each column (as `numpy.savetxt(header=...)` writes), else z1, z2, ...
    """
    import polars as pl

    comment, lines = _without_comments(_decoded(path))
    if not lines:
        fail("path", "a table with a header and rows", f"{str(path)!r}, which is empty")
    first = lines.split("\n", 1)[0]
    bare = re.sub(r'"[^"]*"', "", first)
    separator = next((s for s in "\t;," if s in bare), ",")
    with one_sentence(path, _KIND):
        frame = pl.read_csv(
            io.BytesIO(lines.encode()), has_header=False, infer_schema=False, separator=separator
        )
        heads = [(value or "").strip() for value in frame.row(0)]
        frame = with_nulls(frame)
        if separator == ";":
            decimal = r"^([+-]?\d*),(\d*(?:[eE][+-]?\d+)?)$"
            frame = frame.with_columns(pl.all().str.replace(decimal, "${1}.${2}"))
    if _is_row_of_numbers(heads):
        names = _names_in(comment, separator, len(heads))
    else:
        names, frame = heads, frame[1:]
        if "POSITION_X" in names:  # TrackMate: long names, short names and units follow the header
            words = [not any(map(_is_number, filter(None, row))) for row in frame.head(3).rows()]
            frame = frame[sum(words) :] if all(words) else frame
        if frame.height == 0:
            fail("path", "a table with rows below its header", f"{str(path)!r}, which has none")
    return _by_name(names, frame.get_columns())


def _decoded(path: Path) -> str:
    with one_sentence(path, _KIND):
        raw = path.read_bytes()
        wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = raw.decode("utf-16" if wide else "utf-8-sig")
    if "\0" in text:
        fail("path", _KIND, f"{str(path)!r}, which is binary", "Check that its ending says what it is.")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip()


def _without_comments(text: str) -> tuple[str, str]:
    """The last comment at the top, and everything below."""
    comment, start = "", 0
    while start < len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)].strip(" ")
        if line and not line.startswith("#"):
            return comment, text[start:]
        comment = line.lstrip("# ") or comment
        start = end + 1 if end >= 0 else len(text)
    return comment, ""


def _names_in(comment: str, separator: str, count: int) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader([comment], delimiter=separator), [])]
    except csv.Error:
        names = []
    if count > 1 and len(names) == count and not any(_is_number(name) for name in names) and all(names):
        return names
    return [f"z{i + 1}" for i in range(count)]


def _by_name(names: list[str], columns: list) -> Table:
    """Columns by name; those without a name, an index as a rule, are left out."""
    kept = [(name, column.alias(name)) for name, column in zip(names, columns, strict=True) if name]
    twice = next((name for name, count in Counter(n for n, _ in kept).items() if count > 1), None)
    if twice is not None:
        fail("header", "different names", f"{twice!r} more than once", "Rename one of the columns.")
    return dict(kept)


def _is_row_of_numbers(cells: list[str]) -> bool:
    """Whether a line has a number and nothing else but numbers and cells that say they are missing."""
    values = [cell for cell in cells if cell.lower() not in MISSING]
    return len(values) > 0 and all(map(_is_number, values))


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return "_" not in cell
