"""Runs of one, two, three and five coordinates, put together by hand: nothing is trained or sampled."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from uidd import Result
from uidd.components import Constant, Full, SumOfSquares
from uidd.data import Scaling, Trajectories
from uidd.landscape import Barrier, EnergyPath, Landscape, StationaryPoint
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture, Ensemble, Model
from uidd.report import Analysis, RunFolder, render_page
from uidd.sampling import Simulation, StationarySamples
from uidd.thermodynamics import CountedEntropyProduction, Estimate
from uidd.training import Check, Checks, EpochRecord, Fit

HOSTILE = "<script>alert(1)</script>"
NAMES = ("extension", HOSTILE, 'a"b&c', "d", "e")
UNITS = ("nm", "<i>nm</i>", "", "", "")
NEEDED = ("chromium", "chromedriver")
_left_out = pytest.StashKey[bool]()


def pytest_collection_modifyitems(config, items):
    """Without a browser its tests are deselected: a skip would look like a choice."""
    if all(shutil.which(name) for name in NEEDED):
        return
    browser = [item for item in items if item.get_closest_marker("browser")]
    if browser:
        config.stash[_left_out] = True
        config.hook.pytest_deselected(items=browser)
        items[:] = [item for item in items if item not in browser]


def pytest_terminal_summary(terminalreporter, config):
    if config.stash.get(_left_out, False):
        missing = next(name for name in NEEDED if not shutil.which(name))
        terminalreporter.write_line(f"browser tests did not run: no {missing} on this machine")


def _recorded(dimension: int) -> Trajectories:
    steps = np.random.default_rng(1).standard_normal((12, 30, dimension))
    states = steps.copy()
    for k in range(1, 30):
        states[:, k] = 0.8 * states[:, k - 1] + 0.6 * steps[:, k]
    return Trajectories.from_arrays(
        states, dt=0.1, coordinates=NAMES[:dimension], units=UNITS[:dimension], time_unit="s"
    )


def _barrier(a: StationaryPoint, b: StationaryPoint) -> Barrier:
    dimension = len(a.x)
    values = np.concatenate([[-2.0], np.arange(1.0, dimension)])
    saddle = StationaryPoint((a.x + b.x) / 2, 2.5, values, 1, 1e-9)
    points = np.linspace(a.x, b.x, 9)
    path = EnergyPath(points, 3.5 * np.sin(np.linspace(0, np.pi, 9)) - 1, (a, b), (saddle,))
    return Barrier(3.5, 0.25, a, b, saddle, path)


def _analysis(data: Trajectories) -> Analysis:
    generator = np.random.default_rng(2)
    dimension = data.dimension
    chains = generator.standard_normal((10, 400, dimension))
    minimum = StationaryPoint(np.full(dimension, 0.125), -1.0, np.arange(1.0, dimension + 1), 0, 1e-6)
    higher = replace(minimum, x=np.full(dimension, -0.5), energy=0.375)
    states = np.stack(data.states) + 0.1 * generator.standard_normal((len(data), 30, dimension))
    counted = CountedEntropyProduction(3.25, 0.5, Result(), bins=7, transitions=348, unpaired_share=0.043)
    return Analysis(
        entropy_production=Estimate(12.3456, 0.512),
        over_model=Estimate(12.875, 0.75),
        stationary=True,
        checks=Checks(
            (
                Check("drift", "ok", 0.5, 0.02, "advice for the drift"),
                Check("memory", "memory", 1e-9, 0.4, "advice against <memory>"),
            )
        ),
        plug_in=Estimate(12.4, 0.05),
        irreducible_spread=0.5,
        noise_floor=0.6,
        system_entropy=Estimate(0.01, 0.02),
        counted=counted if dimension <= 3 else None,
        landscape=Landscape((minimum, higher), (_barrier(minimum, higher),)),
        local=generator.chisquare(2, 1000) * 6,
        samples=StationarySamples(chains, 1.0021, 3210.0, 0.57, Result()),
        simulation=Simulation(states, data.times[0], 0.01),
        recorded=data,
    )


@pytest.fixture(scope="session")
def make_run(tmp_path_factory, random_dynamics):
    """A run folder and its analysis, by dimension and history."""

    def make(dimension: int, *, epochs: int = 5, name: str = "run", **more) -> tuple[RunFolder, Analysis]:
        data = _recorded(dimension)
        architecture = Architecture(SumOfSquares(widths=(4,)), Constant("full"), Full(widths=(4,)))
        model = Model(
            unit=random_dynamics(architecture, dimension, 0),
            architecture=architecture,
            scaling=Scaling.of(data),
            anchors=tuple(map(tuple, data.states[0].tolist())),
            coordinates=data.coordinates,
            units=data.units,
            time_unit=data.time_unit,
        )
        history = tuple(EpochRecord(k, 100 * k, 1.0 / (k + 1), 1.1 / (k + 1)) for k in range(epochs))
        fit = Fit(
            checks=Checks(),
            model=model,
            ensemble=Ensemble.none(model),
            history=history,
            result=Result(),
            seconds=12.0,
            test_loss=0.4321,
            start=Result(),
            kept=history[-1],
            refined=model,
            likelihood=EulerMaruyama(),
            tests=(),
            test=data,
            total_time=data.total_time,
        )
        run = RunFolder.create(tmp_path_factory.mktemp("runs") / name)
        config = {"data": f"/tmp/{HOSTILE}.csv", "seed": 7, "command": f"uidd fit {HOSTILE}", **more}
        run.begin(config)
        run.write_fit(fit, config)
        return run, _analysis(data)

    return make


@pytest.fixture(scope="session")
def runs(make_run):
    """Run and analysis by dimension."""
    return {dimension: make_run(dimension) for dimension in (1, 2, 3, 5)}


@pytest.fixture(scope="session")
def pages(runs):
    """The page by dimension."""
    return {dimension: render_page(*made) for dimension, made in runs.items()}
