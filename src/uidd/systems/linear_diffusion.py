"""What every linear diffusion has in closed form: density, current, entropy production, exact paths."""

import abc
from collections.abc import Sequence
from functools import cache

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from .._checks import positive, whole_number
from ..data import Trajectories
from ..dynamics import ClosedFormDynamics


class AbstractLinearDiffusion(abc.ABC):
    """dx = A x dt + sqrt(2 D) dB with A = -(D + W) S, W = -W^T; stationary density N(0, S^-1).

    A subclass is a frozen dataclass that gives D, W and S. Where a system is known by A and D instead,
    `circulation_and_stiffness` finds W and S.
    """

    @property
    @abc.abstractmethod
    def dissipation_matrix(self) -> np.ndarray:
        """D, symmetric and positive."""

    @property
    @abc.abstractmethod
    def circulation_matrix(self) -> np.ndarray:
        """W, antisymmetric."""

    @property
    @abc.abstractmethod
    def stiffness(self) -> np.ndarray:
        """S, the Hessian of V = x^T S x / 2."""

    @property
    def drift_matrix(self) -> np.ndarray:
        """A = -(D + W) S."""
        return -(self.dissipation_matrix + self.circulation_matrix) @ self.stiffness

    @property
    def covariance(self) -> np.ndarray:
        """C = S^-1, for which A C + C A^T = -2 D."""
        return np.linalg.inv(self.stiffness)

    @property
    def entropy_production_rate(self) -> float:
        """-Tr(D^-1 W S W) = Tr[(A + D C^-1)^T D^-1 (A + D C^-1) C]."""
        D, W, S = self.dissipation_matrix, self.circulation_matrix, self.stiffness
        return abs(float(np.trace(np.linalg.solve(D, W @ S @ W))))

    @property
    def dynamics(self) -> ClosedFormDynamics:
        """V = x^T S x / 2, sigma = chol(2 D), W constant."""
        return _dynamics(self)


def circulation_and_stiffness(drift: np.ndarray, dissipation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W and S of dx = A x dt + sqrt(2 D) dB.

    C = -A^-1 (D + W) is symmetric where A W + W A^T = A D - D A^T: W is exactly zero where the right
    side is, which it is not when C is solved for first.
    """
    A, D = drift, dissipation
    W = scipy.linalg.solve_continuous_lyapunov(A, A @ D - D @ A.T)
    return W, -np.linalg.solve(D + W, A)


def transition(system: AbstractLinearDiffusion, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """E = exp(A dt) and C - E C E^T: the mean E x and the covariance of x(t + dt) given x(t) = x."""
    E, C = scipy.linalg.expm(system.drift_matrix * positive("dt", dt)), system.covariance
    return E, C - E @ C @ E.T


def projected_rate(system: AbstractLinearDiffusion, kept: Sequence[int], dt: float) -> float:
    """The entropy production that pairs of frames of some coordinates y show,

        (1/dt) KL( p(y_t, y_t+dt) || p(y_t+dt, y_t) ) = Tr(B^-1 F - 1) / (2 dt),

    F the covariance of (y_t, y_t+dt), B that of (y_t+dt, y_t). With all coordinates it tends to the rate as
    dt -> 0; with some, or at a longer dt, it is less. One coordinate alone shows nothing.
    """
    E, _ = transition(system, dt)
    rows = np.ix_(kept, kept)
    now, later = system.covariance[rows], (system.covariance @ E.T)[rows]
    F, B = np.block([[now, later], [later.T, now]]), np.block([[now, later.T], [later, now]])
    return float(np.trace(np.linalg.solve(B, F - B)) / (2 * dt))


def gaussian_paths(
    step: np.ndarray, noise: np.ndarray, start: np.ndarray, paths: int, frames: int, dt: float, seed: int
) -> Trajectories:
    """x' = step x + N(0, noise), from starts drawn from N(0, start)."""
    dimension = len(step)
    whole_number("paths", paths)
    whole_number("frames", frames, least=2)
    generator = np.random.default_rng(whole_number("seed", seed, least=0))
    states = np.empty((frames, paths, dimension))
    states[0] = generator.standard_normal((paths, dimension)) @ np.linalg.cholesky(start).T
    kicks = generator.standard_normal((frames - 1, paths, dimension)) @ np.linalg.cholesky(noise).T
    for k, kick in enumerate(kicks):
        states[k + 1] = states[k] @ step.T + kick
    return Trajectories.from_arrays(np.ascontiguousarray(states.swapaxes(0, 1)), dt=dt)


def stationary_paths(
    system: AbstractLinearDiffusion, paths: int, frames: int, dt: float, seed: int
) -> Trajectories:
    """Exact paths from stationary starts: at any dt the data are those of the process itself."""
    return gaussian_paths(*transition(system, dt), system.covariance, paths, frames, dt, seed)


@cache  # the same functions every time, so that what was compiled for them serves again
def _dynamics(system: AbstractLinearDiffusion) -> ClosedFormDynamics:
    sigma = np.linalg.cholesky(2 * system.dissipation_matrix)
    W, S = system.circulation_matrix, system.stiffness
    return ClosedFormDynamics(
        lambda z: z @ jnp.asarray(S, z.dtype) @ z / 2,
        lambda z: jnp.asarray(sigma, z.dtype),
        lambda z: jnp.asarray(W, z.dtype),
    )
