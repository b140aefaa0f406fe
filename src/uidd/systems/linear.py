"""The paper's two-dimensional linear diffusion, with everything about it known."""

from dataclasses import dataclass
from functools import cache

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from .._checks import one_of, whole_number
from ..data import Trajectories
from ..dynamics import ClosedFormDynamics

DISSIPATION = np.array([[0.02595867, -0.01463836], [-0.01463836, 0.02783796]])
STIFFNESS = np.array([[33.97958886, -10.35827272], [-10.35827272, 13.60290032]])
CIRCULATION = np.array([[0.0, -0.12367745], [0.12367745, 0.0]])


@dataclass(frozen=True)
class Linear:
    """dZ = -(M + W) S Z dt + sqrt(2 M) dB with W = strength * W_0; stationary density N(0, S^-1).

    >>> round(Linear(1.0).entropy_production_rate, 4)
    47.0598
    """

    strength: float = 1.0

    @property
    def drift_matrix(self) -> np.ndarray:
        """A = -(M + W) S."""
        return -(DISSIPATION + self.strength * CIRCULATION) @ STIFFNESS

    @property
    def entropy_production_rate(self) -> float:
        """-Tr(M^-1 W S W)."""
        W = self.strength * CIRCULATION
        return float(-np.trace(np.linalg.solve(DISSIPATION, W @ STIFFNESS @ W)))

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V = z^T S z / 2, sigma = chol(2 M), W constant."""
        return _dynamics(self.strength)

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
        one_of("scheme", scheme, ("euler", "exact"))
        whole_number("frames", frames, least=2)
        generator = np.random.default_rng(seed)
        A, covariance = self.drift_matrix, np.linalg.inv(STIFFNESS)
        if scheme == "euler":
            step, noise = np.eye(2) + A * dt, 2 * DISSIPATION * dt
        else:
            step = scipy.linalg.expm(A * dt)
            noise = covariance - step @ covariance @ step.T
        root = np.linalg.cholesky(noise)
        start = np.linalg.cholesky(covariance) if stationary else 2 * np.eye(2)
        states = np.empty((whole_number("paths", paths), frames, 2))
        states[:, 0] = generator.standard_normal((paths, 2)) @ start.T
        for k in range(1, frames):
            states[:, k] = states[:, k - 1] @ step.T + generator.standard_normal((paths, 2)) @ root.T
        return Trajectories.from_arrays(states, dt=dt)


@cache  # the same functions every time, so that what was compiled for them serves again
def _dynamics(strength: float) -> ClosedFormDynamics:
    sigma, W = np.linalg.cholesky(2 * DISSIPATION), strength * CIRCULATION
    return ClosedFormDynamics(
        lambda z: z @ jnp.asarray(STIFFNESS) @ z / 2,
        lambda z: jnp.asarray(sigma, z.dtype),
        lambda z: jnp.asarray(W, z.dtype),
    )
