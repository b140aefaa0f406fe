"""The accuracy suite: the defaults of `uidd.fit` on systems with a known answer, one row a data set.

One setting for all rows: `uidd.fit(data, seed=seed)` and `uidd.entropy_production(fit)`, nothing per system.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Trajectories
from ...thermodynamics import Estimate, irreducible_spread
from ..rows import Rows
from .cases import Bar, Case
from .figures import NINETY

Estimator = Callable[[Trajectories, int], tuple[Any, Estimate]]
PeerResults = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """A bar, the figure it was held against, and whether that is met; None where it cannot be judged."""

    quantity: str
    kind: str
    shared: str
    figure: float
    limit: float
    met: bool | None


@dataclass(frozen=True)
class Row:
    """One fit to one data set.

    Attributes:
        case: Its name.
        system: The class of the system.
        seed: Of the data and of the fit.
        dt: The time between frames.
        pairs: Successive pairs of frames.
        total_time: The observed time, T.
        truth: The exact entropy production rate.
        ours: The estimate.
        training: The code with which the fit ended.
        error: (ours - truth) / truth; ours - truth where the truth is 0.
        covered: Whether rate -+ 1.645 standard errors holds the truth.
        spread: The irreducible spread of a rate seen over T, in the units of the rate.
        noise_floor: 20 / T where the truth is 0.
        seconds: Of the fit and the estimate together.
        figures: What else was measured.
        peers: Other methods on the same arrays.
        bars: How the row compares with what it must be.
    """

    case: str
    system: str
    seed: int
    dt: float
    pairs: int
    total_time: float
    truth: float
    ours: Estimate
    training: str
    error: float
    covered: bool
    spread: float
    noise_floor: float | None
    seconds: float
    figures: dict[str, float]
    peers: PeerResults
    bars: tuple[Verdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """As stored."""
        return {**asdict(self), "ours": self.ours.to_dict(), "bars": [asdict(bar) for bar in self.bars]}


def estimate_with_defaults(data: Trajectories, seed: int) -> tuple[Any, Estimate]:
    """What every row is made by."""
    import uidd

    fit = uidd.fit(data, seed=seed)
    return fit, uidd.entropy_production(fit)


def run(
    cases: Iterable[Case],
    folder: Path,
    *,
    seeds: Iterable[int] = (0,),
    peers: bool = False,
    command: str = "",
    estimator: Estimator = estimate_with_defaults,
) -> Iterator[dict[str, Any]]:
    """Measure one data set after another; every row is stored before it is handed out.

    A row without peers keeps those that were stored for the same data.
    """
    if peers:
        from ..peers import require_sfi

        require_sfi()
    seeds = tuple(seeds)
    for case in cases:
        for seed in seeds:
            rows, name = Rows(folder), f"{case.name}-seed{seed}"
            kept = rows.read(name).get("peers", {}) if rows.has(name) else {}
            row = measure(case, seed, kept=kept, peers=peers, estimator=estimator)
            yield rows.write(name, row.to_dict(), command)


def measure(
    case: Case,
    seed: int,
    *,
    kept: PeerResults | None = None,
    peers: bool = False,
    estimator: Estimator = estimate_with_defaults,
) -> Row:
    """Simulate, fit, estimate, compare."""
    data = case.simulate(seed)
    began = time.perf_counter()
    fit, ours = estimator(data, seed)
    seconds = time.perf_counter() - began
    found = peer_results(case, data, seed) if peers else kept
    return judged(case, data, fit, ours, seed=seed, seconds=seconds, peers=found)


def peer_results(case: Case, data: Trajectories, seed: int) -> PeerResults:
    """Every peer's estimate, its error and what it took."""
    from ..peers import PEERS

    truth, results = case.system.entropy_production_rate, {}
    for name, peer in PEERS.items():
        began = time.perf_counter()
        estimate = peer(data, seed)
        results[name] = {
            **estimate.to_dict(),
            "error": error_of(estimate.rate, truth),
            "seconds": time.perf_counter() - began,
        }
    if case.peer_figures is not None and results["SFI"]["result"] == "ok":
        results["SFI"]["figures"] = case.peer_figures(case.system, data)
    return results


def judged(
    case: Case,
    data: Trajectories,
    fit: Any,
    ours: Estimate,
    *,
    seed: int = 0,
    seconds: float = 0.0,
    peers: PeerResults | None = None,
) -> Row:
    """The row of a fit that has been made."""
    truth, T = float(case.system.entropy_production_rate), data.total_time
    figures = {**case.figures(case.system, fit, data), "seconds": seconds}
    spread = irreducible_spread(truth, T)
    return Row(
        case=case.name,
        system=type(case.system).__name__,
        seed=seed,
        dt=float(np.mean(data.transitions().dt)),
        pairs=data.pair_count,
        total_time=T,
        truth=truth,
        ours=ours,
        training=fit.result.code,
        error=error_of(ours.rate, truth),
        covered=bool(abs(ours.rate - truth) <= NINETY * ours.standard_error),
        spread=spread,
        noise_floor=20 / T if truth == 0 else None,
        seconds=seconds,
        figures=figures,
        peers=peers or {},
        bars=tuple(judge(bar, truth, ours, T, figures, peers or {}) for bar in case.bars),
    )


def error_of(rate: float, truth: float) -> float:
    """Relative to the truth, or as it is where the truth is 0."""
    return (rate - truth) / truth if truth else rate


def judge(
    bar: Bar, truth: float, ours: Estimate, total_time: float, figures: dict[str, float], peers: PeerResults
) -> Verdict:
    """Hold a bar against what was found; NaN never meets one."""
    low, high = ours.interval
    off = abs(ours.rate - truth)
    match bar.kind:
        case "relative":
            figure, limit = off / truth, bar.limit
            met = figure <= limit
        case "below":
            figure, limit = figures[bar.quantity], bar.limit
            met = figure < limit
        case "null":
            figure, limit = high, bar.limit / total_time
            met = low <= 0 <= high < limit
        case "spreads":
            figure, limit = off / irreducible_spread(truth, total_time), bar.limit
            met = figure <= limit
        case "covers":
            figure, limit = off / ours.standard_error if ours.standard_error > 0 else np.nan, bar.limit
            met = figure <= limit
        case "peer":
            rate = peers.get("SFI", {}).get("rate")
            figure, limit = off, np.nan if rate is None else bar.limit * abs(rate - truth)
            met = None if rate is None else figure <= limit
        case _:
            raise ValueError(f"no rule for a bar of the kind {bar.kind!r}")
    verdict = None if met is None else bool(met)
    return Verdict(bar.quantity, bar.kind, bar.shared, float(figure), float(limit), verdict)
