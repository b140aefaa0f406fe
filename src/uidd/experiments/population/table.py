"""The stored rows of the population: the bars, a table of every system, a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import write_atomically
from ..markdown import markdown_table
from ..rows import Rows
from . import peers
from .peers import compared

# In nats: a drift in which a cubic gains more must not be called linear.
NONLINEAR = 20.0
# In kT: what V may be off in any case, and how many of its own errors.
V_LIMIT, V_ERRORS = 0.15, 3.0


@dataclass(frozen=True)
class Bar:
    """What must hold, what was found, and whether it does."""

    what: str
    found: str
    met: bool


def bars(rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """The bars over all rows."""
    ok = [row for row in rows if row["code"] == "ok"]
    if not ok:
        return [Bar("at least 80 % ok", "no row is", False)]
    # In one dimension there is no current to be found: the rate is zero, whatever the fit.
    z = np.abs([row["z"] for row in ok if row["dimension"] > 1] or [0.0])
    wrong_V = [r["seed"] for r in ok if r["V_error"] > max(V_LIMIT, V_ERRORS * r["V_stated"])]
    called_linear = [r["seed"] for r in ok if r["linear"] and (r["drift_gain"] or 0.0) > NONLINEAR]
    small = [r["seconds"] for r in rows if r["dimension"] <= 4 and r["pairs"] <= 300_000]
    inside, share = z < 1.959964, len(ok) / len(rows)
    # Without a current the truth is zero, and an interval that does not hold it is a false alarm.
    driven = np.array([row["truth"] > 0 for row in ok if row["dimension"] > 1] or [False])
    covered = float(np.mean(inside[driven])) if driven.any() else 1.0
    return [
        Bar("ok: |z| > 3 in at most 1 %", f"{np.mean(z > 3):.1%}", bool(np.mean(z > 3) <= 0.01)),
        Bar(
            "ok: 95 % intervals of systems with a current cover 92 to 98 %",
            f"{covered:.1%} of {driven.sum()}; {np.mean(inside):.1%} of all {len(inside)}",
            0.92 <= covered <= 0.98,
        ),
        Bar("ok: no |z| above 4", f"{z.max():.2f}", bool(z.max() <= 4)),
        Bar(
            "ok: V within max(.15 kT, three stated errors)",
            f"{len(wrong_V)} are not: seeds {wrong_V[:12]}",
            not wrong_V,
        ),
        Bar(
            "no nonlinear drift called linear",
            f"{len(called_linear)}: seeds {called_linear[:12]}",
            not called_linear,
        ),
        Bar("at least 80 % ok", f"{share:.1%}", share >= 0.8),
        Bar(
            "D <= 4, 300,000 pairs: median 40 s, worst 180 s",
            f"{np.median(small):.0f} s, {np.max(small):.0f} s" if small else "none",
            bool(small) and float(np.median(small)) <= 40 and float(np.max(small)) <= 180,
        ),
    ]


def stored_rows(folder: Path) -> list[dict[str, Any]]:
    """In the order of their seeds."""
    return sorted(Rows(folder), key=lambda row: row["seed"])


def _system(r: dict[str, Any]) -> list[str]:
    """Seed, system and recording."""
    kind = f"{r['dimension']}-D {r['landscape']}, {r['depth']:.1f} kT, {r['noise']} noise"
    recording = f"{r['recording']}, {r['starts']}, {r['pairs']} pairs, dt {r['step']:.3f}"
    return [f"{r['seed']}", f"{kind}, W {r['circulation']}", recording]


def _cells(r: dict[str, Any]) -> list[str]:
    """One system and what was found."""
    known = [*_system(r), f"{r['truth']:.4g}"]
    if r["code"] == "failed":
        return [*known, "", "", "", f"failed: {r['message']}", f"{r['seconds']:.0f}"]
    found = [f"{r['rate']:.4g} +- {r['standard_error']:.2g}", f"{r['z']:.2f}"]
    return [*known, *found, f"{r['V_error']:.3f} ({r['V_stated']:.3f})", r["code"], f"{r['seconds']:.0f}"]


def told(row: dict[str, Any]) -> str:
    """One row in a line."""
    z = f"z {row['z']:.2f}" if "z" in row else row["message"]
    return f"seed {row['seed']}, {row['code']}, {z}, {row['seconds']:.0f} s"


def summarised(folder: Path) -> str:
    """Table and figure from all stored rows; the bars in words."""
    from ...plotting.population import population_figure
    from ...plotting.style import png

    rows = stored_rows(folder)
    lines = [f"{'met   ' if bar.met else 'missed'}  {bar.what}: {bar.found}" for bar in bars(rows)]
    lines += [*filter(None, [compared(rows, peers.stored_rows(folder))]), f"Written to {write_table(folder)}"]
    if any("z" in row for row in rows):
        write_atomically(folder / "figure.png", png(population_figure(rows, always=V_LIMIT, errors=V_ERRORS)))
    return "\n".join(lines)


def write_table(folder: Path) -> Path:
    """`table.md`: the bars, and which systems do not say `ok`, and why; `systems.md`: a line for each."""
    rows = stored_rows(folder)
    # |z| would end a cell
    met = [[bar.what.replace("|", "\\|"), bar.found, "yes" if bar.met else "no"] for bar in bars(rows)]
    parts = [markdown_table(("bar", "found", "met"), met)]
    if beside := compared(rows, peers.stored_rows(folder)):
        parts.append(beside)
    if unsure := [row for row in rows if row["code"] != "ok"]:
        why = [[*_system(row), row["code"], row["message"]] for row in unsure]
        head = ("seed", "system that does not say `ok`", "recording", "code", "reason")
        parts.append(markdown_table(head, why))
    columns = ("seed", "system", "recording", "truth", "rate", "z", "V off (stated), kT", "code", "s")
    every = ["# Every system", markdown_table(columns, [_cells(row) for row in rows])]
    (folder / "systems.md").write_text("\n\n".join(every) + "\n")
    path = folder / "table.md"
    path.write_text("\n\n".join(parts) + "\n")
    return path
