"""Tables in Markdown, for pages and terminals."""

from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A head, a rule, and a line a row.

    >>> print(markdown_table(("bar", "met"), [("rate", "yes")]))
    | bar | met |
    |---|---|
    | rate | yes |
    """
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
