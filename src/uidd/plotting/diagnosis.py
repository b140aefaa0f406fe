"""Entropy production against batch size."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from .style import DATA, MODEL

if TYPE_CHECKING:
    from ..diagnosis import SamplerDiagnosis


def diagnosis_figure(diagnosis: "SamplerDiagnosis") -> Figure:
    """Rates with two standard errors, and the plug-in beside them; filled where detailed balance is broken.

    Both axes are logarithmic; a rate that is zero or below is an arrow down from its upper limit.
    """
    batches = diagnosis.batches
    sizes = [float(batch.batch_size) for batch in batches if not isinstance(batch.batch_size, str)]
    # The full batch stands behind the others, one step further out.
    beyond = 4 * max(sizes, default=1.0)
    x = np.array([beyond if isinstance(b.batch_size, str) else float(b.batch_size) for b in batches])
    rate = np.array([batch.rate.rate for batch in batches])
    error = 2 * np.array([batch.rate.standard_error for batch in batches])
    plug_in = np.array([batch.plug_in for batch in batches])
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    positive = [*plug_in[plug_in > 0], *rate[rate > 0], *(rate + error)[rate + error > 0]]
    # Half a decade below all that is positive there is room for the arrows.
    top, bottom = (max(positive), min(positive) / 4) if positive else (1.0, 0.1)
    panel.set(xscale="log", yscale="log", ylim=(bottom, 3 * top))
    seen = rate > bottom
    for broken, label in ((True, "detailed balance broken"), (False, "not seen broken")):
        own = seen & (np.array([batch.broken for batch in batches]) == broken)
        if own.any():
            low = np.minimum(error[own], rate[own] - bottom / 10)
            panel.errorbar(
                x[own],
                rate[own],
                yerr=[low, error[own]],
                fmt="o",
                color=MODEL,
                markerfacecolor=MODEL if broken else "white",
                capsize=3,
                label=f"entropy production, {label}",
            )
    limit = ~seen & (rate + error > bottom)
    if limit.any():
        upper = (rate + error)[limit]
        panel.errorbar(
            x[limit],
            upper,
            yerr=0.6 * upper,
            uplims=True,
            fmt="_",
            color=MODEL,
            label="upper limit (two standard errors)",
        )
    panel.plot(x * 1.12, plug_in, "x", color=DATA, label="plug-in, which noise adds to")
    panel.set_xticks(x, [_name(batch.batch_size) for batch in batches])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlim(x.min() / 2, x.max() * 2)
    panel.set_xlabel("batch size")
    panel.set_ylabel("entropy production ($k_B$ per unit time)")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    return figure


def _name(size: int | str) -> str:
    return "chains" if size == "given" else str(size)
