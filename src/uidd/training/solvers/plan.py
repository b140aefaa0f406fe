"""How long and how fast to train."""

from dataclasses import dataclass

import optax

from ..._checks import positive, whole_number


@dataclass(frozen=True)
class Plan:
    """Adam with a short warm-up and a cosine decay, stopped early by the held-out likelihood.

    Attributes:
        steps: The most optimiser steps.
        batch: Pairs a step; the whole data where there are fewer.
        learning_rate: The highest.
        steps_per_epoch: Steps between two looks at the held-out likelihood, one compiled loop.
        patience: Epochs without a better held-out likelihood before training stops.
    """

    steps: int = 4000
    batch: int = 2048
    learning_rate: float = 2e-3
    steps_per_epoch: int = 100
    patience: int = 12

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "steps_per_epoch", "patience"):
            whole_number(name, getattr(self, name))
        positive("learning_rate", self.learning_rate)

    @property
    def epochs(self) -> int:
        """The most epochs."""
        return -(-self.steps // self.steps_per_epoch)

    def schedule(self) -> optax.Schedule:
        """Learning rate against step."""
        warm_up = min(self.steps_per_epoch, self.steps // 10)
        return optax.warmup_cosine_decay_schedule(
            0.1 * self.learning_rate,
            self.learning_rate,
            warm_up,
            self.epochs * self.steps_per_epoch,
            0.01 * self.learning_rate,
        )

    def optimiser(self) -> optax.GradientTransformation:
        """Adam under a bound on the gradient's norm, so that one outlying batch does no harm."""
        return optax.chain(optax.clip_by_global_norm(10.0), optax.adam(self.schedule()))
