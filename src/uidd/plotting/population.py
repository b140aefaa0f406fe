"""The population at a glance: is the rate within its error, V within its error, and how long did it take?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.stats
from matplotlib.figure import Figure

from .style import DATA, GRID, INK, MODEL

# In kT: who knows no more of V than this knows nothing, and is drawn at the edge.
LARGEST_SHOWN = 30.0


def population_figure(rows: Sequence[dict[str, Any]], *, always: float, errors: float) -> Figure:
    """Three panels from rows that hold a rate: z against its normal quantile, V, and seconds.

    Args:
        rows: One a system.
        always: What V may be off in any case, in kT.
        errors: And how many of its own errors.
    """
    measured = [row for row in rows if "z" in row]
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    quantiles, potential, seconds = figure.subplots(1, 3)
    _quantiles(quantiles, [row for row in measured if row["dimension"] > 1])
    _potential(potential, measured, always, errors)
    _seconds(seconds, measured)
    for panel in (quantiles, potential, seconds):
        panel.grid(color=GRID, lw=0.6)
        panel.set_axisbelow(True)
    return figure


def _quantiles(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Of fits that say `ok`: on the line if stated errors are right, flatter if they are too large."""
    z = np.sort([row["z"] for row in rows if row["code"] == "ok"])
    normal = scipy.stats.norm.ppf((np.arange(len(z)) + 0.5) / max(len(z), 1))
    panel.plot([-3, 3], [-3, 3], color=INK, lw=1, label="errors as stated")
    panel.plot(normal, z, "o", color=MODEL, ms=4, mfc="none", label=f"{len(z)} fits that say ok")
    panel.axhspan(-1.96, 1.96, color=MODEL, alpha=0.08, lw=0, label="95 % interval covers")
    most = max(4.2, 0.4 + float(np.abs(z).max(initial=0.0)))
    panel.set(
        xlabel="normal quantile",
        ylabel="(rate − truth) / stated error",
        title="(a) entropy production, D > 1",
        ylim=(-most, most),
    )
    panel.legend(fontsize=8, frameon=False, loc="upper left")


def _potential(panel: Any, rows: Sequence[dict[str, Any]], always: float, errors: float) -> None:
    """Below the line if V is within the bar."""
    stated, off = (
        np.clip([row[name] for row in rows], 1e-3, LARGEST_SHOWN) for name in ("V_stated", "V_error")
    )
    line = np.geomspace(min(stated.min(initial=0.01), 0.01), LARGEST_SHOWN, 200)
    panel.plot(line, np.maximum(always, errors * line), color=INK, lw=1, label="limit")
    for label, colour, wanted in (("ok", MODEL, True), ("not ok", DATA, False)):
        chosen = np.array([(row["code"] == "ok") == wanted for row in rows], bool)
        panel.plot(stated[chosen], off[chosen], "o", color=colour, ms=4, mfc="none", label=label)
    panel.set(
        xscale="log",
        yscale="log",
        xlabel=f"error of V that the fit states (kT; {LARGEST_SHOWN:.0f} or more at the edge)",
        ylabel="error of V over recorded states (kT)",
        title="(b) potential",
    )
    panel.legend(fontsize=8, frameon=False, loc="upper left")


def _seconds(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    for label, marker, low, high in (("D ≤ 2", "o", 1, 2), ("D = 3, 4", "s", 3, 4), ("D ≥ 5", "^", 5, 99)):
        own = [row for row in rows if low <= row["dimension"] <= high]
        panel.plot(
            [r["pairs"] for r in own], [r["seconds"] for r in own], marker, ms=4, mfc="none", label=label
        )
    panel.set(xscale="log", yscale="log", xlabel="pairs", ylabel="seconds of fit and rate", title="(c) time")
    panel.legend(fontsize=8, frameon=False, loc="upper left")
