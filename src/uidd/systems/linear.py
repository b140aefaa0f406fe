"""The paper's two-dimensional linear diffusion, with everything about it known."""

from dataclasses import dataclass

import numpy as np

from .._checks import one_of, positive
from ..data import Trajectories
from .linear_diffusion import AbstractLinearDiffusion, gaussian_paths, transition

DISSIPATION = np.array([[0.02595867, -0.01463836], [-0.01463836, 0.02783796]])
STIFFNESS = np.array([[33.97958886, -10.35827272], [-10.35827272, 13.60290032]])
CIRCULATION = np.array([[0.0, -0.12367745], [0.12367745, 0.0]])


@dataclass(frozen=True)
class Linear(AbstractLinearDiffusion):
    """dZ = -(M + W) S Z dt + sqrt(2 M) dB with W = strength * W_0; stationary density N(0, S^-1).

    >>> round(Linear(1.0).entropy_production_rate, 4)
    47.0598
    """

    strength: float = 1.0

    @property
    def dissipation_matrix(self) -> np.ndarray:
        """M, the paper's."""
        return DISSIPATION

    @property
    def circulation_matrix(self) -> np.ndarray:
        """strength * W_0."""
        return self.strength * CIRCULATION

    @property
    def stiffness(self) -> np.ndarray:
        """S, the paper's."""
        return STIFFNESS

    def simulate(
        self,
        paths: int = 10_000,
        frames: int = 101,
        dt: float = 0.01,
        *,
        scheme: str = "euler",
        stationary: bool = False,
        seed: int = 0,
    ) -> Trajectories:
        """Paths from N(0, 4 I), as in the paper, or from the stationary density.

        Args:
            paths: How many.
            frames: Frames a path, the start included.
            dt: The time between frames.
            scheme: `euler`, the paper's data: one Euler-Maruyama step a frame; or `exact`, the Gaussian
                transition of the process itself.
            stationary: Start from N(0, S^-1) instead.
            seed: Of starts and noise.
        """
        if one_of("scheme", scheme, ("euler", "exact")) == "euler":
            step, noise = np.eye(2) + self.drift_matrix * positive("dt", dt), 2 * DISSIPATION * dt
        else:
            step, noise = transition(self, dt)
        start = self.covariance if stationary else 4 * np.eye(2)
        return gaussian_paths(step, noise, start, paths, frames, dt, seed)
