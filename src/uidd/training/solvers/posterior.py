"""The log-posterior of coefficients, and a solution of it."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from ...likelihood import AbstractLikelihood
from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from .fisher_information import fisher
from .local_posterior import LocalPosterior, laplace_volume, prior
from .outside_barrier import OutsideBarrier
from .sample import Sample
from .scores import Scores, floor_of, log_densities, mean_loss, scores, values

# Pairs that tell where the middle of the log-densities is.
LOOKED_AT = 32_768


@dataclass(frozen=True)
class Solution:
    """Coefficients, the precision of every group's prior, and what is known about them there.

    Attributes:
        vector: The coefficients.
        precision: Of the prior of every group; at 1e8 a group is switched off.
        information: The Fisher information of all data at or near `vector`.
        found: The scores of all data at or near `vector`.
        expected_gain: What one more step would gain in the log-posterior, in nats.
        held: How many of the paces the last step found too fast, and by how much it was damped.
    """

    vector: np.ndarray
    precision: np.ndarray
    information: np.ndarray
    found: Scores
    expected_gain: float
    held: tuple[int, float] = (0, 0.0)

    @classmethod
    def start(cls, coefficients: Coefficients, precision: np.ndarray) -> "Solution":
        """Values as they are, nothing known about them."""
        nothing = np.zeros((0, 0))
        return cls(coefficients.vector, precision, nothing, Scores(0.0, nothing), float("inf"))

    def to_container(self) -> tuple[dict[str, Any], list[np.ndarray]]:
        """What there is beside `vector` and `precision`: words and numbers, and arrays."""
        gain = self.expected_gain if isfinite(self.expected_gain) else None
        plain = {"value": self.found.value, "expected_gain": gain, "held": list(self.held)}
        return plain, [self.information, self.found.blocks]

    @classmethod
    def from_container(
        cls, plain: dict[str, Any], vector: np.ndarray, precision: np.ndarray, arrays: list[np.ndarray]
    ) -> "Solution":
        """The inverse."""
        information, blocks = arrays
        gain = float("inf") if plain["expected_gain"] is None else float(plain["expected_gain"])
        held, damping = plain["held"]
        found = Scores(float(plain["value"]), blocks)
        return cls(vector, precision, information, found, gain, (int(held), float(damping)))

    def prior(self, coefficients: Coefficients) -> np.ndarray:
        """The precision of every coefficient; a trace of one on constants keeps the solve regular."""
        return prior(coefficients, self.precision, self.information)

    @property
    def local_posterior(self) -> LocalPosterior:
        """Around `vector`; the barrier outside the data is a part of the information already."""
        nothing, everything = np.zeros((0, len(self.vector))), np.ones(len(self.vector), bool)
        gradient = self.found.gradient
        return LocalPosterior(self.vector, gradient, self.information, np.zeros(0), nothing, everything)

    def without(self, coefficients: Coefficients, names: tuple[str, ...]) -> "Solution":
        """With the readouts of components left out, all of which are switched off."""
        components = [COMPONENTS.index(name) for name in names]
        kept = ~(coefficients.penalised & np.isin(coefficients.component, components))
        return replace(
            self,
            vector=self.vector[kept],
            precision=self.precision[~np.isin(coefficients.group_owner, components)],
            information=self.information[np.ix_(kept, kept)],
            found=Scores(self.found.value, self.found.blocks[:, kept]),
        )


@dataclass(frozen=True)
class Posterior:
    """The log-posterior of a model's coefficients, but for the widths of the priors, which are sought, too.

    Attributes:
        coefficients: Of the model.
        likelihood: The transition density.
        data: All pairs, or some.
        outside: Where V must not fall.
        total: How many pairs there are in all.
        seed: Of the pairs that tell the information.
    """

    coefficients: Coefficients
    likelihood: AbstractLikelihood
    data: Sample
    outside: OutsideBarrier
    total: int
    seed: int

    @property
    def share(self) -> float:
        """Of all pairs."""
        return len(self.data) / self.total

    def floor(self, x: np.ndarray) -> float:
        """Below it a pair's log-density is bounded."""
        seen = self.data.some(LOOKED_AT, np.random.default_rng(self.seed))
        return floor_of(log_densities(self.coefficients, x, self.likelihood, seen))

    def scores(self, x: np.ndarray, floor: float) -> Scores:
        """Value and gradient of the data's log-density."""
        return scores(self.coefficients, x, self.likelihood, self.data, floor=floor)

    def height(self, x: np.ndarray, floor: float) -> float:
        """The data's log-density less what the barrier outside the data costs."""
        found = values(self.coefficients, x, self.likelihood, self.data, floor=floor)
        return found - self.outside.cost(self.coefficients, x)

    def log_evidence(self, solution: Solution) -> float:
        """The log-density of the data whatever the coefficients are, by Laplace's method."""
        x = solution.vector
        found = -len(self.data) * mean_loss(self.coefficients, x, self.likelihood, self.data)
        found -= self.outside.cost(self.coefficients, x)
        return found + laplace_volume(self.coefficients, x, solution.precision, solution.information)

    def solution_here(self, precision: np.ndarray | None = None) -> Solution:
        """What the data know of the coefficients where they are, without a step.

        Args:
            precision: Of the priors; those of the largest evidence by default.
        """
        x, scale = self.coefficients.vector, 1 / self.share
        floor = self.floor(x)
        F = fisher(self.coefficients, x, self.likelihood, self.data, seed=self.seed) * scale
        found = self.scores(x, floor)
        # Blocks hold a part of their pairs: their sum is that part of all, what they vary by its root.
        mean = found.blocks.mean(axis=0)
        found = Scores(found.value * scale, mean * scale + (found.blocks - mean) * scale**0.5)
        everything, rises = np.ones(len(x), bool), self.outside.rises(self.coefficients, x)
        quadratic = LocalPosterior(x, found.gradient, F, *rises, everything)
        if precision is None:
            _, precision = quadratic.solved(self.coefficients, self.coefficients.usual_precision)
        return Solution(x, precision, F + quadratic.curvature_of_barrier(x), found, 0.0)
