"""From trajectories to a model."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import overload

from .._checks import fail
from .._programs import keep_programs, make_room
from ..components import CirculationSpecification
from ..data import Trajectories
from ..likelihood import AbstractLikelihood
from ..models import Architecture
from ..models.files import weights
from .by_adam import fit_by_adam, fit_from_random_weights
from .by_search import fit_by_search
from .checkpoint import CheckpointFile, fingerprint
from .problem import Problem
from .records import Fit, M, Trained
from .solvers.plan import Plan
from .trainable import Trainable


@overload
def fit(
    data: Trajectories,
    *,
    seed: int = ...,
    architecture: Architecture | str = ...,
    circulation: CirculationSpecification | None = ...,
    likelihood: AbstractLikelihood | None = ...,
    plan: Plan | None = ...,
    checkpoint: str | os.PathLike[str] | None = ...,
    resume: bool = ...,
    progress: bool = ...,
) -> Fit: ...
@overload
def fit(
    data: Trajectories,
    *,
    seed: int = ...,
    architecture: Trainable[M],
    likelihood: AbstractLikelihood | None = ...,
    plan: Plan | None = ...,
    checkpoint: str | os.PathLike[str] | None = ...,
    resume: bool = ...,
    progress: bool = ...,
) -> Trained[M]: ...
def fit(
    data: Trajectories,
    *,
    seed: int = 0,
    architecture: Architecture | Trainable | str = "default",
    circulation: CirculationSpecification | None = None,
    likelihood: AbstractLikelihood | None = None,
    plan: Plan | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Fit | Trained:
    """Learn V, sigma and W from trajectories by maximum likelihood, with an ensemble around them.

    The data are split by trajectory into a training and a test part, and scaled to unit size. The best
    linear model is found in closed form. Regressions of the increments say whether the drift is nonlinear and
    the noise varies (see `Gain`); then V, W and sigma get networks, which are fitted by Gauss-Newton steps,
    each with a prior that the data choose (see `Search`). Architectures whose hidden layers have to be
    trained, such as the paper's, are trained by Adam instead.

    Args:
        data: The trajectories.
        seed: Of the split, the subsets and the ensemble. The same seed gives the same model.
        architecture: The networks; `default` or one of the paper's `linear`, `polymer`, `sgld`. Or another
            model than ours, from `uidd.baselines`, which starts from random weights and gives a `Trained`.
        circulation: Replaces the architecture's W.
        likelihood: The transition density; by default `Cubature`, with as many steps as the data can tell,
            or the one that a baseline names.
        plan: Steps, batch and learning rate of Adam, where hidden layers are trained.
        checkpoint: A file that is kept up to date during training.
        resume: Go on from that file. The end is bit for bit that of an unbroken run.
        progress: Show a progress bar where there is a terminal.
    """
    if not isinstance(data, Trajectories):
        fail("data", "Trajectories", type(data).__name__, "Use uidd.Trajectories.from_arrays(x, dt=...).")
    if not isinstance(architecture, Architecture | Trainable | str):
        hint = f"Write {architecture.__name__}()." if isinstance(architecture, type) else ""
        fail("architecture", "an Architecture, its name, or one of uidd.baselines", repr(architecture), hint)
    if plan is not None and not isinstance(plan, Plan):
        fail("plan", "a Plan", repr(plan), "Use uidd.Plan(steps=...).")
    if likelihood is not None and not isinstance(likelihood, AbstractLikelihood):
        fail("likelihood", "a likelihood", repr(likelihood), "Use uidd.Cubature() or uidd.EulerMaruyama().")
    if resume and checkpoint is None:
        fail("checkpoint", "given with `resume`", "none", "Name the file to go on from.")
    architecture = Architecture.named(architecture) if isinstance(architecture, str) else architecture
    if circulation is not None:
        if isinstance(architecture, Trainable):
            fail("circulation", "left out for a baseline, which has its own", repr(circulation))
        architecture = replace(architecture, circulation=circulation)
    file = None
    if checkpoint is not None:
        # A likelihood's words leave the numbers of its arrays out.
        arrays = [array.tolist() for array in weights(likelihood)]
        settings = (seed, architecture, repr(likelihood), plan, *arrays)
        file = CheckpointFile(Path(checkpoint), fingerprint(data.transitions(), *settings))
    keep_programs()
    make_room()
    begun = time.monotonic()
    problem = Problem.of(data, architecture, likelihood, seed)
    how = {"file": file, "resume": resume, "progress": progress}
    if isinstance(architecture, Trainable):
        fitted = fit_from_random_weights(problem, architecture, plan or Plan(), **how)
    elif architecture.trains_hidden_layers:
        fitted = fit_by_adam(problem, architecture, plan or Plan(), **how)
    else:
        fitted = fit_by_search(problem, architecture, **how)
    return replace(fitted, seconds=time.monotonic() - begun)
