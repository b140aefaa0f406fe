"""The demonstration: the linear case at lambda = 1, sampled from the process itself, in two minutes."""

from pathlib import Path
from typing import Any

from ..data import Trajectories
from ..systems import Linear
from ..training import Fit, fit


def make_data(seed: int) -> tuple[Linear, Trajectories]:
    """The paper's 10,000 paths: nine parts in ten for training, one for the test."""
    system = Linear(1.0)
    return system, system.simulate(10_000, scheme="exact", seed=seed)


def config(system: Linear, seed: int) -> dict[str, Any]:
    """What the run folder says of itself."""
    return {
        "data": 'uidd.systems.Linear(1.0).simulate(10_000, scheme="exact")',
        "seed": seed,
        "exact": {"system": "linear, lambda = 1", "entropy_production": system.entropy_production_rate},
    }


def train(data: Trajectories, seed: int, *, checkpoint: Path, progress: bool) -> Fit:
    """With the defaults, nothing chosen for this system."""
    return fit(data, seed=seed, checkpoint=checkpoint, progress=progress)
