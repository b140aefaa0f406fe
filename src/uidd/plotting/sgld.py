"""Entropy production and sampling bias against the batch size, and predicted against true paths."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .style import DATA, MODEL

EXACT, BIASED, OTHER, LIMIT = "#000000", "#999999", "#009E73", "#CC79A7"


def batch_size_figure(name: str, studies: list[Any], comparison: Any, published: dict[int, Any]) -> Figure:
    """Two panels: entropy production, and squared MMD to the full batch and between b and b / 2.

    Args:
        name: Of the problem.
        studies: Records of single batch sizes.
        comparison: The record of all of them together, for its rank correlation.
        published: The published entropy production, several seeds a batch size.
    """
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    rates, apart = figure.subplots(1, 2)
    _rates(rates, studies, published)
    _discrepancies(apart, studies)
    rates.set_title("(a) entropy production of the sampler")
    correlation = comparison.rate_with_discrepancy.value
    apart.set_title(f"(b) sampling bias; rank correlation with (a): {correlation:.2f}")
    figure.suptitle(f"SGLD, {name}")
    return figure


def _rates(panel: Any, studies: list[Any], published: dict[int, Any]) -> None:
    some = [study for study in studies if study.batch_size is not None]
    b = np.array([study.batch_size for study in some])

    def of(key: str) -> np.ndarray:
        return np.array([study.figures.get(key, np.nan) for study in some], float)

    panel.plot(b, of("exact"), color=EXACT, lw=1.2, label="exact equation")
    if np.isfinite(of("limit")).any():
        panel.plot(b, of("limit"), color=LIMIT, lw=1.2, ls=":", label="small-step limit, closed form")
    panel.plot(
        b,
        of("circulation_rate_plug_in"),
        color=BIASED,
        marker="s",
        ms=4,
        ls="none",
        mfc="none",
        label="learned, plug-in",
    )
    _bars(panel, b, of("rate"), of("rate_error"), MODEL, "o", "learned, cross-fitted")
    if published:
        means = [np.mean(published[k]) for k in published]
        spread = np.array([[np.mean(v) - min(v), max(v) - np.mean(v)] for v in published.values()]).T
        panel.errorbar(
            list(published), means, yerr=spread, color=DATA, marker="x", ms=5, lw=0.8, ls="none", capsize=2,
            label="published, range of 4 seeds",
        )  # fmt: skip
    _logarithmic(panel, b, "entropy production ($k_B$ per unit time)")


def _discrepancies(panel: Any, studies: list[Any]) -> None:
    some = {study.batch_size: study.figures for study in studies if study.batch_size is not None}
    kinds = (
        ("to_full", MODEL, "o", "to full batch"),
        ("to_half", OTHER, "^", "between $b$ and $b/2$"),
    )
    for name, colour, marker, label in kinds:
        found = {b: figures[name] for b, figures in some.items() if name in figures}
        b = np.array(list(found), float)
        unbiased, error, biased = np.array(list(found.values())).T
        _bars(panel, b, unbiased, error, colour, marker, f"{label}, unbiased")
        panel.plot(b, biased, color=colour, lw=0.8, ls="--", alpha=0.6, label=f"{label}, biased")
    _logarithmic(panel, np.array(list(some), float), "squared MMD ($\\gamma = 1$)")


def _bars(
    panel: Any, b: np.ndarray, value: np.ndarray, error: np.ndarray, colour: str, marker: str, label: str
) -> None:
    """Values with 95 % bars; what cannot be told from zero is drawn as the upper end of its interval."""
    seen = value > 1.96 * error
    panel.errorbar(
        b[seen], value[seen], yerr=1.96 * error[seen], color=colour, marker=marker, ms=6, ls="none",
        capsize=3, mfc="none", label=label,
    )  # fmt: skip
    top = np.maximum(value, 0.0) + 1.96 * error
    panel.plot(b[~seen], top[~seen], color=colour, marker="v", ms=6, ls="none")


def _logarithmic(panel: Any, b: np.ndarray, label: str) -> None:
    panel.set(xscale="log", yscale="log", xlabel="batch size $b$", ylabel=label)
    panel.set_xticks(b, labels=[f"{value:g}" for value in b])
    panel.set_xticks([], minor=True)
    panel.legend(fontsize=8, frameon=False)
    panel.text(0.01, 0.01, "bars: 95 %;  triangles down: upper limits", transform=panel.transAxes, fontsize=7)


def paths_figure(name: str, studies: list[Any]) -> Figure:
    """Mean paths, losses and stationary states, true and predicted, of every batch size that was followed."""
    followed = [study for study in studies if study.paths]
    kinds = [kind for kind in ("random", "zero") if f"{kind} true mean" in followed[0].paths]
    columns = 2 * len(kinds) if len(kinds) > 1 else 4
    figure = Figure(figsize=(4 * columns, 3.6 * len(followed)), layout="constrained")
    for row, study in zip(figure.subplots(len(followed), columns, squeeze=False), followed, strict=True):
        panels = iter(row)
        for kind in kinds:
            _paths(next(panels), study, kind)
            _losses(next(panels), study, kind)
        if len(kinds) == 1:
            for pair in ((0, 1), (1, 2)):
                _states(next(panels), study, pair)
    figure.suptitle(f"SGLD, {name}: true (lines) and predicted (dashes)")
    return figure


def _paths(panel: Any, study: Any, kind: str) -> None:
    paths = study.paths
    true, predicted = (paths[f"{kind} {which} mean"] for which in ("true", "predicted"))
    for d in range(min(true.shape[1], 4)):
        (line,) = panel.plot(paths["iteration"], true[:, d], lw=3, alpha=0.4)
        panel.plot(
            paths["iteration"], predicted[:, d], lw=1.2, ls="--", color=line.get_color(), label=f"$z_{d + 1}$"
        )
    panel.set(xlabel="iteration", ylabel="mean of $z$", title=f"$b$ = {study.batch_size}, {kind} start")
    panel.legend(fontsize=7, frameon=False, ncols=2)


def _losses(panel: Any, study: Any, kind: str) -> None:
    paths = study.paths
    panel.plot(paths["iteration"], paths[f"{kind} true loss"], color=DATA, lw=3, alpha=0.4, label="true")
    panel.plot(
        paths["iteration"], paths[f"{kind} predicted loss"], color=MODEL, lw=1.2, ls="--", label="predicted"
    )
    panel.set(xlabel="iteration", ylabel="median loss", title=f"$b$ = {study.batch_size}, {kind} start")
    panel.legend(fontsize=8, frameon=False)


def _states(panel: Any, study: Any, pair: tuple[int, int]) -> None:
    """Both kinds of states, in the range of the true ones and half as much beside it; the rest is counted."""
    a, b = pair
    true = study.paths["true end"][:, pair]
    margin = 0.5 * np.ptp(true, axis=0)
    low, high = true.min(axis=0) - margin, true.max(axis=0) + margin
    for which, colour in (("true", DATA), ("predicted", MODEL)):
        end = study.paths[f"{which} end"]
        panel.plot(end[:, a], end[:, b], color=colour, marker=".", ms=2, ls="none", alpha=0.4, label=which)
    panel.set(
        xlabel=f"$z_{a + 1}$", ylabel=f"$z_{b + 1}$", title=f"$b$ = {study.batch_size}, stationary states"
    )
    predicted = study.paths["predicted end"][:, pair]
    outside = int(np.sum(~np.all((predicted >= low) & (predicted <= high), axis=1)))
    if outside:
        panel.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        words = f"{outside} of {len(predicted)} predicted are outside"
        panel.text(0.01, 0.01, words, transform=panel.transAxes, fontsize=7)
    panel.legend(fontsize=8, frameon=False, markerscale=4)
