"""The demonstration: the paper's linear case at lambda = 1, in two minutes."""

from pathlib import Path
from typing import Any

from ..data import Trajectories
from ..systems import Linear
from ..training import Fit, Plan, fit

STEPS = 1000


def make_data(seed: int) -> tuple[Linear, Trajectories]:
    """The paper's 10,000 paths: nine parts in ten for training and validation, one for the test."""
    system = Linear(1.0)
    return system, system.simulate(10_000, seed=seed)


def config(system: Linear, seed: int) -> dict[str, Any]:
    """What the run folder says of itself."""
    return {
        "data": "uidd.systems.Linear(1.0).simulate(10_000)",
        "steps": STEPS,
        "seed": seed,
        "exact": {"system": "linear, lambda = 1", "entropy_production": system.entropy_production_rate},
    }


def train(data: Trajectories, seed: int, *, checkpoint: Path, progress: bool) -> Fit:
    """A short plan: the linear start is nearly there, and the networks refine it."""
    return fit(data, seed=seed, plan=Plan(steps=STEPS), checkpoint=checkpoint, progress=progress)
