"""`.parquet`: columns, read at arm's length."""

import io
import os
import subprocess
import sys
from pathlib import Path

from .reading import one_sentence
from .tables import Table, with_nulls

_READ_IN_CHILD = """
import io, sys, polars
with open(sys.argv[1], "rb") as stream:
    table = polars.read_parquet(io.BytesIO(stream.read()))
table.write_ipc(result := io.BytesIO())
sys.stdout.buffer.write(result.getvalue())
"""


def read(path: Path) -> Table:
    """The columns of a Parquet file.

    Polars aborts the whole process on some damaged files (it reserves the memory that a page header
    asks for), which no `except` can catch. So a child process reads, and only a good table comes back.
    """
    import polars as pl

    with one_sentence(path, "a Parquet file"):
        with path.open("rb") as stream:
            start = stream.read(4)
            stream.seek(-4, os.SEEK_END)
            if not start == stream.read() == b"PAR1":
                raise ValueError("the marks at both ends are missing")
        command = [sys.executable, "-P", "-c", _READ_IN_CHILD, str(path.resolve())]
        child = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
        frame = with_nulls(pl.read_ipc(io.BytesIO(child.stdout)))
        return {column.name: column for column in frame.get_columns()}
