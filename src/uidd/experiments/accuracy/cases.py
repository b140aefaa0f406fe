"""The cases of the accuracy suite, and the bars that they must clear, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..._checks import fail, nearest
from ...data import Trajectories
from ...systems import Beads, DoubleWell, Gyrator, Linear, Metastable, MullerBrown, System, Trap, VaryingNoise
from . import figures

Figures = Callable[[Any, Any, Trajectories], dict[str, float]]


@dataclass(frozen=True)
class Bar:
    """What a figure of a row must be.

    Attributes:
        quantity: The figure's name.
        kind: `relative`: the entropy production is off by at most `limit` times the exact rate. `below`: the
            figure is less than `limit`. `null`: the 95 % interval contains 0 and ends below `limit` / T.
            `spreads`: the error is at most `limit` irreducible spreads. `covers`: the exact value is at
            most `limit` standard errors away. `peer`: at least as close to the truth as SFI, times `limit`.
        limit: As `kind` says.
        shared: The name of a bar over several cases of which this is one count; "" for a bar of its own.
    """

    quantity: str
    kind: str
    limit: float
    shared: str = ""


@dataclass(frozen=True)
class Case:
    """One system, how it is recorded, what is measured of a fit to it, and what that must be.

    Attributes:
        name: Of the case; the system's, then what tells its cases apart.
        system: Equations, truth, generator.
        size: What `system.simulate` is given besides the seed.
        figures: From system, fit and data to what is measured besides the entropy production.
        bars: What must be met.
        peer_figures: From system and data to what is measured of stochastic force inference.
    """

    name: str
    system: System
    size: Mapping[str, Any]
    figures: Figures
    bars: tuple[Bar, ...] = ()
    peer_figures: Callable[[Any, Trajectories], dict[str, float]] | None = None

    def simulate(self, seed: int) -> Trajectories:
        """A fresh data set."""
        return self.system.simulate(**self.size, seed=seed)


SECONDS = Bar("seconds", "below", 180.0)
NULL = Bar("EPR", "null", 20.0)
# 95 % and 90 % of a normal distribution, in standard deviations.
COVERS_95, COVERS_90 = 1.959964, 1.644854
# DynGMA's relative errors of drift, sigma and V (Zhu and Li 2024), by the time between frames.
DYNGMA = {0.05: (0.046, 0.0099, 0.053), 0.1: (0.044, 0.0052, 0.076), 0.2: (0.075, 0.0377, 0.087)}
DYNGMA_PATHS = {0.05: 2000, 0.1: 4000, 0.2: 8000}
# At least this many of the nine are better.
DYNGMA_LEAST = 7
# Over this many data sets, 90 % intervals must cover the truth in this share of them.
COVERAGE_CASES = ("linear-1", "double-well-dt0.02", "varying-noise")
COVERAGE_DATA_SETS, COVERAGE_SHARE = 20, (0.75, 1.0)


def _epr(limit: float) -> Bar:
    return Bar("EPR", "relative", limit)


def _linear(strength: float, *bars: Bar) -> Case:
    size = {"paths": 10_000, "frames": 101, "dt": 0.01, "scheme": "exact"}
    return Case(f"linear-{strength:g}", Linear(strength), size, figures.linear_figures, (*bars, SECONDS))


def _beads(dt: float, limit: float) -> Case:
    size = {"paths": 100, "frames": 5001, "dt": dt}
    return Case(f"beads-2-dt{dt:g}", Beads(2), size, figures.linear_figures, (_epr(limit), SECONDS))


def _trap(strength: float, *bars: Bar) -> Case:
    size = {"paths": 1, "frames": 320_000, "dt": 0.01}
    return Case(f"trap-{strength:g}", Trap(strength), size, figures.linear_figures, (*bars, SECONDS))


def _double_well(dt: float, rate: float, barrier: float, potential: float) -> Case:
    bars = (
        _epr(rate),
        Bar("barrier", "below", barrier),
        Bar("barrier deviations", "below", COVERS_90),
        Bar("V", "below", potential),
        SECONDS,
    )
    size = {"paths": 400, "frames": 1000, "dt": dt}
    return Case(f"double-well-dt{dt:g}", DoubleWell(), size, figures.double_well_figures, bars)


def _metastable(h: float) -> Case:
    names = ("drift", "sigma", "V")
    bars = tuple(Bar(name, "below", e, shared="DynGMA") for name, e in zip(names, DYNGMA[h], strict=True))
    size = {"paths": DYNGMA_PATHS[h], "frames": round(1 / h) + 1, "dt": h}
    return Case(f"metastable-h{h:g}", Metastable(), size, figures.metastable_figures, (*bars, SECONDS))


ALL = (
    _linear(1.0, _epr(0.01)),
    _linear(0.5, _epr(0.01)),
    _linear(0.25, _epr(0.01)),
    _linear(0.0, NULL),
    _beads(0.01, 0.02),
    _beads(0.1, 0.03),
    _beads(0.5, 0.1),
    Case(
        "beads-5",
        Beads(5),
        {"paths": 100, "frames": 5001, "dt": 0.1},
        figures.linear_figures,
        (Bar("EPR", "spreads", 2.0), SECONDS),
    ),
    _trap(0.3, Bar("EPR", "peer", 1.0), Bar("EPR", "covers", COVERS_95)),
    _trap(0.0, NULL),
    _double_well(0.02, rate=0.03, barrier=0.05, potential=0.05),
    _double_well(0.05, rate=0.05, barrier=0.08, potential=0.08),
    _metastable(0.05),
    _metastable(0.1),
    _metastable(0.2),
    Case(
        "muller-brown",
        MullerBrown(),
        {"paths": 1, "frames": 15_001, "dt": 0.01},
        figures.muller_brown_figures,
        (NULL, Bar("force NMSE", "below", 0.1), SECONDS),
        figures.muller_brown_peer_figures,
    ),
    Case(
        "gyrator",
        Gyrator(),
        {"paths": 100, "frames": 5001, "dt": 0.1},
        figures.linear_figures,
        (SECONDS,),
    ),
    Case(
        "varying-noise",
        VaryingNoise(),
        {"paths": 400, "frames": 1000, "dt": 0.02},
        figures.varying_noise_figures,
        (_epr(0.03), Bar("sigma", "below", 0.03), Bar("V", "below", 0.05), SECONDS),
    ),
)
CASES: dict[str, Case] = {case.name: case for case in ALL}


def chosen(only: str | None) -> list[Case]:
    """All cases, the one called `only`, or all whose names begin with it.

    >>> [case.name for case in chosen("trap")], [case.name for case in chosen("trap-0")]
    (['trap-0.3', 'trap-0'], ['trap-0'])
    """
    if only is None:
        return list(CASES.values())
    if only in CASES:
        return [CASES[only]]
    found = [case for name, case in CASES.items() if name.startswith(only) and only]
    if not found:
        known = {*CASES, *(name.rsplit("-", 1)[0] for name in CASES)}
        fail("--only", "a case or the beginning of one", repr(only), nearest(only, known))
    return found
