"""The stored rows of the accuracy suite as text: a line a row, the table of the docs, what was met."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import write_atomically
from ..markdown import markdown_table
from ..rows import Rows
from .cases import CASES, COVERAGE_CASES, COVERAGE_DATA_SETS, COVERAGE_SHARE, DYNGMA_LEAST

PEER_NAMES = ("SFI", "Euler fit", "counting", "linear fit")
HEAD = (
    f"{'case':<24}{'dt':>5}{'pairs':>9}{'exact':>9}{'ours':>21}{'error':>10}{'spread':>9}{'s':>5}{'bars':>7}"
)
INDENT = "    "
StoredRow = dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """All stored data sets of one case.

    Attributes:
        case: Its name.
        count: Data sets.
        mean_error: Of the errors, which are relative unless the truth is 0.
        rms_error: The root of their mean square.
        standard_error: The mean of the reported standard errors, in the same units.
        covered: In how many the 90 % interval holds the truth.
        within: In how many every bar on the entropy production is met; None without such a bar.
        met: Whether the share covered is what it must be; None for fewer than 20 data sets, or no such bar.
    """

    case: str
    count: int
    mean_error: float
    rms_error: float
    standard_error: float
    covered: int
    within: int | None
    met: bool | None


def stored_rows(folder: Path) -> list[StoredRow]:
    """All rows under a folder, in the order of the suite, then by seed."""
    order = {name: k for k, name in enumerate(CASES)}
    return sorted(
        Rows(folder), key=lambda row: (order.get(row["case"], len(order)), row["case"], row["seed"])
    )


def summaries(rows: list[StoredRow]) -> list[Summary]:
    """One for every case with more than one data set."""
    by_case: dict[str, list[StoredRow]] = {}
    for row in rows:
        by_case.setdefault(row["case"], []).append(row)
    return [_summary(case, group) for case, group in by_case.items() if len(group) > 1]


def _summary(case: str, rows: list[StoredRow]) -> Summary:
    errors = np.array([_number(row["error"]) for row in rows])
    spreads = [_number(row["ours"]["standard_error"]) / (row["truth"] or 1.0) for row in rows]
    covered = sum(row["covered"] for row in rows)
    low, high = COVERAGE_SHARE
    within = [[bar["met"] for bar in row["bars"] if bar["quantity"] == "EPR"] for row in rows]
    judged = case in COVERAGE_CASES and len(rows) >= COVERAGE_DATA_SETS
    return Summary(
        case=case,
        count=len(rows),
        mean_error=float(errors.mean()),
        rms_error=float(np.sqrt(np.mean(errors**2))),
        standard_error=float(np.mean(spreads)),
        covered=covered,
        within=sum(all(met) for met in within) if all(within) else None,
        met=bool(low <= covered / len(rows) <= high) if judged else None,
    )


def first_rows(rows: list[StoredRow]) -> list[StoredRow]:
    """The row with the lowest seed of every case: the ones that bars are read from."""
    first: dict[str, StoredRow] = {}
    for row in rows:
        first.setdefault(row["case"], row)
    return list(first.values())


def verdicts(rows: list[StoredRow]) -> list[tuple[str, str, str, str, bool | None]]:
    """Every bar: case, what is asked, the figure, the limit, whether it is met; shared bars last."""
    found: list[tuple[str, str, str, str, bool | None]] = []
    shared = [bar for row in first_rows(rows) for bar in row["bars"] if bar["shared"]]
    for row in first_rows(rows):
        for bar in row["bars"]:
            if not bar["shared"]:
                found.append((row["case"], *_worded(bar), bar["met"]))
    wanted = sum(bool(bar.shared) for case in CASES.values() for bar in case.bars)
    if shared:
        better = sum(bool(bar["met"]) for bar in shared)
        asked = "better than DynGMA: drift, sigma, V"
        met = better >= DYNGMA_LEAST if len(shared) == wanted else None
        found.append(("metastable", asked, f"{better} of {len(shared)}", f"{DYNGMA_LEAST} of {wanted}", met))
    for summary in summaries(rows):
        if summary.case in COVERAGE_CASES:
            asked = f"90 % intervals cover, {COVERAGE_DATA_SETS} data sets"
            figure = f"{summary.covered} of {summary.count}"
            found.append((summary.case, asked, figure, "75 % to 100 %", summary.met))
    return found


def tally(rows: list[StoredRow]) -> str:
    """How many bars are met, missed and not judged, and which those are."""
    found = verdicts(rows)
    missed = [f"{case}: {asked} ({figure})" for case, asked, figure, _, met in found if met is False]
    open_ones = [f"{case}: {asked}" for case, asked, _, _, met in found if met is None]
    lines = [f"Bars: {sum(v[-1] is True for v in found)} met, {len(missed)} missed, {len(open_ones)} open."]
    lines += [f"  missed  {words}" for words in missed] + [f"  open    {words}" for words in open_ones]
    return "\n".join(lines)


def line(row: StoredRow) -> str:
    """A row for the terminal: one line, then its further figures, peers and what it missed."""
    name = row["case"] + (f" #{row['seed']}" if row["seed"] else "")
    judged = [bar for bar in row["bars"] if bar["met"] is not None]
    met = f"{sum(bar['met'] for bar in judged)}/{len(row['bars'])}"
    text = (
        f"{name:<24}{row['dt']:>5g}{row['pairs']:>9}{_short(row['truth']):>9}{_value(row['ours']):>21}"
        f"{_error(row, row['error']):>10}{_spread(row):>9}{row['seconds']:>5.0f}{met:>7}"
    )
    missed = (f"missed: {_said(bar)}" for bar in judged if not bar["met"])
    for notes in filter(None, (_figures(row), _peers(row), *missed)):
        text += "\n" + textwrap.fill(notes, len(HEAD), initial_indent=INDENT, subsequent_indent=2 * INDENT)
    if row["training"] != "ok" or row["ours"]["result"] != "ok":
        text += (
            f"\n{INDENT}fit: {row['training']}; estimate: {row['ours']['result']} {row['ours']['message']}"
        )
    return text


def summary_line(summary: Summary) -> str:
    """Repeats for the terminal."""
    unit = _unit(CASES[summary.case].system.entropy_production_rate if summary.case in CASES else 1.0)
    return (
        f"{summary.case}, {summary.count} data sets: mean error {unit(summary.mean_error)}, rms "
        f"{unit(summary.rms_error)}, reported standard error {unit(summary.standard_error)}, 90 % intervals "
        f"cover {summary.covered}" + ("" if summary.within is None else f", within the bar {summary.within}")
    )


def table(rows: list[StoredRow]) -> str:
    """Everything as Markdown."""
    if not rows:
        return "No rows are stored yet."
    head = ("case", "dt", "pairs", "exact", "ours (95 % interval)", "error", "spread", *PEER_NAMES, "s")
    main = [
        (
            row["case"],
            f"{row['dt']:g}",
            f"{row['pairs']:,}",
            _short(row["truth"]),
            f"{_value(row['ours'])} ({_interval(row['ours'])})",
            _error(row, row["error"]),
            _spread(row),
            *(_peer(row, name) for name in PEER_NAMES),
            f"{row['seconds']:.0f}",
        )
        for row in first_rows(rows)
    ]
    words = {True: "yes", False: "**no**", None: "open"}
    bars = [(case, asked, figure, limit, words[met]) for case, asked, figure, limit, met in verdicts(rows)]
    parts = [markdown_table(head, main), markdown_table(("case", "bar", "figure", "limit", "met"), bars)]
    repeated = [
        (
            s.case,
            str(s.count),
            *(_unit(_truth(rows, s.case))(e) for e in (s.mean_error, s.rms_error, s.standard_error)),
            f"{s.covered} of {s.count}",
            "" if s.within is None else f"{s.within} of {s.count}",
        )
        for s in summaries(rows)
    ]
    if repeated:
        names = ("case", "data sets", "mean error", "rms error", "reported", "90 % cover", "within the bar")
        parts.append(markdown_table(names, repeated))
    others = [
        (row["case"], _figures(row) + (f"; SFI: {peer}" if (peer := _sfi_figures(row)) else ""))
        for row in first_rows(rows)
    ]
    return "\n\n".join([*parts, markdown_table(("case", "further figures"), others)])


def write_table(folder: Path) -> Path:
    """Rewrite FOLDER/table.md from all rows stored there."""
    return write_atomically(folder / "table.md", (table(stored_rows(folder)) + "\n").encode())


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _value(estimate: dict[str, Any]) -> str:
    rate, error = estimate["rate"], estimate["standard_error"]
    null = f" (null {estimate['null']:.3g})" if "null" in estimate else ""
    return "-" if rate is None else f"{rate:.4g} +- {_number(error):.2g}{null}"


def _interval(estimate: dict[str, Any]) -> str:
    return " to ".join(_short(end) for end in estimate["interval"])


def _unit(truth: float):
    return (lambda e: f"{100 * e:+.2f} %") if truth else (lambda e: f"{e:+.1e}")


def _truth(rows: list[StoredRow], case: str) -> float:
    return next(row["truth"] for row in rows if row["case"] == case)


def _error(row: StoredRow, error: float | None) -> str:
    return "-" if error is None else _unit(row["truth"])(error)


def _spread(row: StoredRow) -> str:
    """Relative like the error; where the truth is 0, 20 / T."""
    return f"{100 * row['spread'] / row['truth']:.2f} %" if row["truth"] else f"{row['noise_floor']:.1e}"


def _peer(row: StoredRow, name: str) -> str:
    peer = row["peers"].get(name)
    return "" if peer is None else _error(row, peer["error"])


def _peers(row: StoredRow) -> str:
    words = []
    for name in PEER_NAMES:
        if name in row["peers"]:
            further = _listed(row["peers"][name].get("figures", {}))
            words.append(f"{name} {_value(row['peers'][name])} ({_peer(row, name)}) {further}".rstrip())
    return "; ".join(words)


def _figures(row: StoredRow) -> str:
    return _listed({name: value for name, value in row["figures"].items() if name != "seconds"})


def _sfi_figures(row: StoredRow) -> str:
    return _listed(row["peers"].get("SFI", {}).get("figures", {}))


def _listed(figures: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in figures.items())


def _worded(bar: dict[str, Any]) -> tuple[str, str, str]:
    """What is asked, the figure, the limit."""
    figure, limit = _number(bar["figure"]), _number(bar["limit"])
    asked = {
        "relative": f"{bar['quantity']} within {100 * limit:g} %",
        "below": bar["quantity"],
        "null": f"{bar['quantity']}: 95 % interval holds 0 and ends below 20/T",
        "spreads": f"{bar['quantity']} within {limit:g} irreducible spreads",
        "covers": f"{bar['quantity']}: the interval covers, in standard errors",
        "peer": f"{bar['quantity']} at least as close as SFI",
    }[bar["kind"]]
    if bar["kind"] == "relative":
        return asked, f"{100 * figure:.2f} %", f"{100 * limit:g} %"
    return asked, f"{figure:.3g}", f"{limit:.3g}" if bar["limit"] is not None else "run with --peers"


def _said(bar: dict[str, Any]) -> str:
    asked, figure, limit = _worded(bar)
    return f"{asked}: {figure} (limit {limit})"
