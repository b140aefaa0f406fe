"""What training hands back."""

import abc
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .._types import Result
from ..data import Trajectories
from ..dynamics import AbstractDrift
from ..likelihood import AbstractLikelihood
from ..models import Ensemble, Model
from .checks.verdicts import Checks
from .history import EpochRecord
from .regression.gains import Gain

M = TypeVar("M", bound=AbstractDrift)


@dataclass(frozen=True)
class AbstractFit(abc.ABC, Generic[M]):
    """A trained model of any kind, and how it came about.

    Attributes:
        model: In the user's coordinates and time unit.
        history: One record an epoch (or a stage of the search); the first is the start.
        result: `ok`, `still_improving`, `coarse`, `interrupted`, `not_finite`, or the check that failed:
            `drift`, `noise`, `memory`, `tails`, `not_stationary`, `work`, `density`.
        seconds: Wall time of the training.
        test_loss: -(mean log-density) of transitions that took no part in training, in nats a pair and
            in the units inside (unit-size coordinates), comparable between fits of the same data and split
            whose noise is learned, or is not; `held_out_error` compares all.
        kept: The record that `model` belongs to.
        likelihood: The transition density.
        test: The trajectories that took no part.
        total_time: The observed time in the training part.
    """

    model: M
    history: tuple[EpochRecord, ...]
    result: Result
    test_loss: float
    kept: EpochRecord
    likelihood: AbstractLikelihood
    test: Trajectories
    total_time: float
    seconds: float = field(default=0.0, kw_only=True)

    def __repr__(self) -> str:
        epochs = f"{self.history[-1].epoch} epochs, kept {self.kept.epoch}"
        name = type(self).__name__
        return f"{name}({self.result}; {epochs}; {self.likelihood}; {self.seconds:.0f} s)"


@dataclass(frozen=True, repr=False)
class Trained(AbstractFit[M]):
    """A model other than ours, and how it came about. See `AbstractFit`."""


@dataclass(frozen=True, repr=False)
class Fit(AbstractFit[Model]):
    """A model of ours and how it came about. See `AbstractFit` for what all fits have.

    Epoch 0 of `history`, the linear start, stays where the data do not call for more: what data do not call
    for is noise.

    Attributes:
        ensemble: The model and what else the data could have given.
        start: How the linear start went.
        refined: The model with the best trained weights, whether they were kept or not.
        tests: Whether the drift is nonlinear and the noise varies, as far as the model takes it up.
        checks: What transitions that took no part say of the model, one verdict a line; `result` is `ok` only
            if all pass.
    """

    ensemble: Ensemble
    start: Result
    refined: Model
    tests: tuple[Gain, ...]
    checks: Checks

    @property
    def models(self) -> tuple[Model, ...]:
        """The members of the ensemble."""
        return self.ensemble.models
