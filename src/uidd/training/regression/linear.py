"""The best linear model in closed form: where training starts."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import PRNGKeyArray

from ..._programs import compiled
from ..._types import Result
from ...data import Transitions
from ...dynamics import ComponentDynamics


@dataclass(frozen=True)
class LinearModel:
    """dX = -(M + W) S (X - mean) dt + sigma dB, all constant; S^-1 is the stationary covariance."""

    mean: np.ndarray
    stiffness: np.ndarray
    diffusion: np.ndarray
    circulation: np.ndarray
    result: Result

    def as_euler_steps(self, pairs: Transitions) -> Transitions:
        """Increments as Euler's scheme of this model would have made them from the same noise.

        If the model is right the noise of the process, increment - (e^{A dt} - 1)(start - mean), is white
        once its covariance C - e^{A dt} C e^{A^T dt} is taken out. Euler's likelihood of these increments is
        then as good for tests as the exact one of the recorded ones, at a fraction of the cost.
        """
        dt = float(np.mean(pairs.dt))
        if self.result.code == "euler_start" or np.ptp(pairs.dt) > 1e-3 * dt:
            return pairs
        M, C = self.diffusion @ self.diffusion.T / 2, np.linalg.inv(self.stiffness)
        A = -(M + self.circulation) @ self.stiffness
        step = scipy.linalg.expm(A * dt)
        try:
            root = np.linalg.cholesky(C - step @ C @ step.T)
        except np.linalg.LinAlgError:
            return pairs
        apart = pairs.start - self.mean
        noise = pairs.increment - apart @ (step - np.eye(len(step))).T
        white = scipy.linalg.solve_triangular(root, noise.T, lower=True).T
        return Transitions(pairs.start, dt * apart @ A.T + dt**0.5 * white @ self.diffusion.T, pairs.dt)


def fit_linear(pairs: Transitions, *, euler: bool = False) -> LinearModel:
    """Maximum likelihood over all linear models: of the process itself, or of its Euler scheme.

    The process: regression of the next state gives e^{A dt} and the noise Q of a step, so A by a
    logarithm, the stationary covariance C = e^{A dt} C e^{A^T dt} + Q, M = -(A C + C A^T) / 2 and
    W = -(A C - C A^T) / 2. This needs frames at one dt. Euler: regression of the increments gives A
    and M, the Lyapunov equation A C + C A^T = -2 M the rest.

    What cannot be had falls back, and the result says so: to the Euler form (`euler_start`) where the
    step varies or e^{A dt} has no real logarithm; to detailed balance with the data's own mean and
    covariance (`reversible_start`) where the drift is not stable, so that nothing is stationary.
    """
    found = None if euler else _fit_process(pairs)
    if found is not None:
        return found
    found = _fit_euler(pairs)
    if euler or not found.result.successful:
        return found
    words = "Frames of varying step, or too far apart for a logarithm; training starts from the Euler fit."
    return LinearModel(
        found.mean, found.stiffness, found.diffusion, found.circulation, Result("euler_start", words)
    )


def _fit_process(pairs: Transitions) -> LinearModel | None:
    count, dimension = pairs.start.shape
    dt = float(np.mean(pairs.dt))
    if np.ptp(pairs.dt) > 1e-3 * dt:
        return None
    step, a, residual = _regressed(pairs.start, pairs.increment)
    step = np.eye(dimension) + step
    eigenvalues = np.linalg.eigvals(step)
    on_the_cut = (np.abs(eigenvalues.imag) < 1e-9) & (eigenvalues.real <= 0)
    if on_the_cut.any() or not 1e-4 * dt < 1 - np.abs(eigenvalues).max():
        return None
    A = np.real(scipy.linalg.logm(step)) / dt
    Q = residual.T @ residual / max(count - dimension - 1, 1)
    C = scipy.linalg.solve_discrete_lyapunov(step, Q + 1e-9 * np.trace(Q) * np.eye(dimension))
    M, W = -(A @ C + C @ A.T) / 2, -(A @ C - C @ A.T) / 2
    if np.linalg.eigvalsh(M).min() < 1e-6 * np.trace(M) / dimension:
        return None
    mean = np.linalg.solve(np.eye(dimension) - step, a)
    return LinearModel(mean, np.linalg.inv(C), np.linalg.cholesky(2 * M), W, Result())


def _fit_euler(pairs: Transitions) -> LinearModel:
    count, dimension = pairs.start.shape
    root = np.sqrt(pairs.dt)[:, None]
    A, a, residual = _regressed(pairs.start, pairs.increment / root, weight=root)
    M = residual.T @ residual / (2 * max(count - dimension - 1, 1))
    M += 1e-6 * np.trace(M) / dimension * np.eye(dimension)
    if np.linalg.eigvals(A).real.max() < -1e-3:
        C = scipy.linalg.solve_continuous_lyapunov(A, -2 * M)
        W = -(A @ C + M)
        mean = -np.linalg.solve(A, a)
        result = Result()
    else:
        C, W, mean = np.cov(pairs.start.T).reshape(dimension, dimension), 0 * M, pairs.start.mean(axis=0)
        result = Result(
            "reversible_start", "The linear fit is not stable; training starts in detailed balance."
        )
    C = (C + C.T) / 2 + 1e-9 * np.eye(dimension)
    return LinearModel(mean, np.linalg.inv(C), np.linalg.cholesky(2 * M), (W - W.T) / 2, result)


def sharpened(linear: LinearModel, M: np.ndarray) -> LinearModel:
    """The same drift with the noise M that is left when the drift may be nonlinear.

    What a linear drift does not explain counts as noise in the linear model, at times most of it. V is
    known through M grad V, so a wrong M would have to be unlearned together with V. S and W are scaled
    so that M S and W S stay of the size they were.
    """
    M = M + 1e-6 * np.trace(M) / len(M) * np.eye(len(M))
    ratio = max(1.0, float(np.trace(linear.diffusion @ linear.diffusion.T) / (2 * np.trace(M))))
    return replace(
        linear,
        stiffness=ratio * linear.stiffness,
        diffusion=np.linalg.cholesky(2 * M),
        circulation=linear.circulation / ratio,
    )


def _regressed(start: np.ndarray, target: np.ndarray, *, weight: np.ndarray | float = 1.0):
    """target = weight (A start + a) + residual by least squares."""
    design = np.concatenate([start, np.ones((len(start), 1))], axis=1) * weight
    solution, *_ = np.linalg.lstsq(design, target, rcond=None)
    return solution[:-1].T, solution[-1], target - design @ solution


def start_from_linear(
    dynamics: ComponentDynamics, linear: LinearModel, *, key: PRNGKeyArray
) -> ComponentDynamics:
    """The same networks with weights that reproduce the linear model.

    Components are V~ = T V, sigma~ = sigma / sqrt(T), W~ = W / T at temperature T.
    """
    T = dynamics.temperature
    least = 1.01 * dynamics.potential_component.minimal_stiffness
    values, vectors = np.linalg.eigh(T * linear.stiffness)
    stiffness = (vectors * np.maximum(values, least)) @ vectors.T
    wanted = (stiffness, linear.mean, linear.diffusion / T**0.5, linear.circulation / T)
    return _started(dynamics, [jnp.asarray(part, jnp.result_type(float)) for part in wanted], key)


@compiled
def _started(dynamics, wanted, key):
    stiffness, mean, sigma, circulation = wanted
    return eqx.tree_at(
        lambda d: (d.potential_component, d.diffusion_component, d.circulation_component),
        dynamics,
        (
            dynamics.potential_component.starting_at(stiffness, mean, key=key),
            dynamics.diffusion_component.starting_at(sigma),
            dynamics.circulation_component.starting_at(circulation),
        ),
    )
