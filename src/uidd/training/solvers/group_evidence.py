"""The evidence of one group of coefficients, as a function of its prior's width."""

from dataclasses import dataclass

import numpy as np

# Points of a coarse and a fine grid of precisions.
GRIDS = (65, 33)


@dataclass(frozen=True)
class GroupEvidence:
    """The log-probability of the data as a function of one group's precision l, less that of l = infinity.

    With S the information about the group once all else is solved for, and s its score at zero, it is
    sum_i [s_i^2 / (S_i + l) - log(1 + S_i / l)] / 2 in the coordinates in which S is diagonal.

    Attributes:
        information: S_i.
        score: s_i.
        times: As many as there are of each.
    """

    information: np.ndarray
    score: np.ndarray
    times: float = 1.0

    def __call__(self, precision: np.ndarray | float) -> np.ndarray:
        """At one or many precisions."""
        S, s, l = self.information, self.score, np.asarray(precision)[..., None]  # noqa: E741
        return self.times * np.sum(s**2 / (S + l) - np.log1p(S / l), axis=-1) / 2

    def largest(self, low: float, high: float) -> tuple[float, float]:
        """Where it is largest between two bounds, and its value there."""
        coarse, fine = GRIDS
        tried = np.linspace(np.log(low), np.log(high), coarse)
        best = int(np.argmax(self(np.exp(tried))))
        tried = np.exp(np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, coarse - 1)], fine))
        found = self(tried)
        best = int(np.argmax(found))
        return float(tried[best]), float(found[best])

    def loosest(self, low: float, high: float, nats: float) -> float:
        """The smallest precision between two whose value is at most so many nats below the largest there."""
        tried = np.exp(np.linspace(np.log(low), np.log(high), GRIDS[0] ** 2))
        found = self(tried)
        return float(tried[np.argmax(found >= found.max() - nats)])

    def nats(self, precision: np.ndarray) -> np.ndarray:
        """What the group is worth in log-density, on average over what the data allow: <x S x> / 2."""
        S, s, l = self.information, self.score, np.asarray(precision)[..., None]  # noqa: E741
        return self.times * np.sum(S * (s / (S + l)) ** 2 + S / (S + l), axis=-1) / 2

    def hidden(self, low: float, high: float) -> float:
        """How many nats it could be worth, as a root mean square.

        Before the data speak it is as likely to be nothing as to be something, and then all sizes of the
        coefficients, l^(-1/2), up to that of the lower bound are as likely. The evidence says the rest.
        """
        tried = np.linspace(np.log(low), np.log(high), GRIDS[0] ** 2)
        l = np.exp(tried)  # noqa: E741
        share = np.sqrt(low / l) / 2 * (tried[1] - tried[0])  # of sizes, between two precisions
        evidence = self(l)
        most = max(float(evidence.max()), 0.0)
        something = share * np.exp(evidence - most)
        return float(np.sqrt(np.sum(something * self.nats(l) ** 2) / (np.exp(-most) + something.sum())))
