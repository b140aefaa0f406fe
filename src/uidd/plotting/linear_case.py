"""The paper's figure of the linear case, redrawn from stored records."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart.
EXACT, LEARNED, COUNTED, MONTE_CARLO = "#000000", "#0072B2", "#E69F00", "#009E73"


def linear_figure(cases: list[dict[str, Any]]) -> Figure:
    """Three panels: V, the first component of f_irr, and the entropy production against lambda."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    potential, current, rates = figure.subplots(1, 3)
    profile = cases[0]["profile"]
    s = np.asarray(profile["s"])
    for axis, style in (("1", "-"), ("2", "--")):
        for panel, letter in ((potential, "V"), (current, "f")):
            panel.plot(
                s,
                profile[f"{letter}{axis}_exact"],
                color=EXACT,
                ls=style,
                lw=3,
                alpha=0.35,
                label=f"exact, along $z_{axis}$",
            )
            panel.plot(
                s,
                profile[f"{letter}{axis}_learned"],
                color=LEARNED,
                ls=style,
                lw=1.3,
                label=f"learned, along $z_{axis}$",
            )
    strength = cases[0]["strength"]
    potential.set(
        xlabel="position through the origin",
        ylabel="$V - V(0)$  ($k_B T$)",
        title=f"(a) potential, $\\lambda = {strength:g}$",
    )
    current.set(
        xlabel="position through the origin",
        ylabel="first component of $f_{irr}$",
        title=f"(b) irreversible drift, $\\lambda = {strength:g}$",
    )
    for panel in (potential, current):
        panel.legend(fontsize=8, frameon=False)
    _rates(rates, [case for case in cases if case["strength"] > 0])
    return figure


def _rates(panel: Any, cases: list[dict[str, Any]]) -> None:
    x = np.array([case["strength"] for case in cases])
    fine = np.geomspace(x.min(), x.max(), 50)
    panel.plot(fine, cases[0]["exact"] * (fine / x.max()) ** 2, color=EXACT, lw=1, label="exact")
    estimates = (
        ("counted", "counting (Est. 1)", COUNTED, "s"),
        ("monte_carlo", "Monte Carlo, exact equations (Est. 2)", MONTE_CARLO, "^"),
        ("learned", "learned", LEARNED, "o"),
    )
    for name, label, colour, marker in estimates:
        rate = [case[name]["rate"] for case in cases]
        error = [1.96 * case[name]["standard_error"] for case in cases]
        panel.errorbar(
            x,
            rate,
            yerr=error,
            color=colour,
            marker=marker,
            ms=6,
            ls="none",
            capsize=3,
            label=label,
            mfc="none",
        )
    panel.set(
        xscale="log",
        yscale="log",
        xlabel=r"$\lambda$",
        ylabel="entropy production ($k_B$ per unit time)",
        title="(c) four estimates; bars are 95 %",
    )
    panel.set_xticks(x, labels=[f"{value:g}" for value in x])
    panel.set_xticks([], minor=True)
    panel.legend(fontsize=8, frameon=False)
