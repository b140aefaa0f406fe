"""A harmonic trap with a torque."""

from dataclasses import dataclass

import numpy as np

from ..data import Trajectories
from .linear_diffusion import AbstractLinearDiffusion, stationary_paths


@dataclass(frozen=True)
class Trap(AbstractLinearDiffusion):
    """dx = (-x + e z^ x x) dt + sqrt(2 D) dB in the plane, e = `strength`, D = `temperature`.

    The density is N(0, D I) whatever e is; the current turns at rate e, and EPR = 2 e^2 whatever D is.

    >>> round(Trap(0.3).entropy_production_rate, 12)
    0.18
    """

    strength: float = 0.3
    temperature: float = 0.5

    @property
    def dissipation_matrix(self) -> np.ndarray:
        """D I."""
        return self.temperature * np.eye(2)

    @property
    def circulation_matrix(self) -> np.ndarray:
        """W = e D [[0, 1], [-1, 0]]."""
        return self.strength * self.temperature * np.array([[0.0, 1.0], [-1.0, 0.0]])

    @property
    def stiffness(self) -> np.ndarray:
        """I / D."""
        return np.eye(2) / self.temperature

    def simulate(
        self, paths: int = 1, frames: int = 320_000, dt: float = 0.01, *, seed: int = 0
    ) -> Trajectories:
        """Exact stationary paths: one of 320,000 frames by default."""
        return stationary_paths(self, paths, frames, dt, seed)
