"""The best linear model in closed form: where training starts."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import PRNGKeyArray

from .._types import Result
from ..data import Transitions
from ..dynamics import ComponentDynamics


@dataclass(frozen=True)
class LinearModel:
    """dX = -(M + W) S (X - mean) dt + sigma dB, all constant; S^-1 is the stationary covariance."""

    mean: np.ndarray
    stiffness: np.ndarray
    diffusion: np.ndarray
    circulation: np.ndarray
    result: Result


def fit_linear(pairs: Transitions) -> LinearModel:
    """Maximum Euler likelihood over all linear models.

    Regression of the increments gives the drift A x + a and M; the Lyapunov equation
    A C + C A^T = -2 M gives the stationary covariance C, and W = -(A C + M) is antisymmetric.

    Where the regressed drift is not stable there is no stationary density. Then the reversible
    Gaussian with the data's own mean and covariance is taken, and the result says so.
    """
    count, dimension = pairs.start.shape
    root = np.sqrt(pairs.dt)[:, None]
    design = np.concatenate([pairs.start, np.ones((count, 1))], axis=1) * root
    target = pairs.increment / root
    solution, *_ = np.linalg.lstsq(design, target, rcond=None)
    A, a = solution[:-1].T, solution[-1]
    residual = target - design @ solution
    M = residual.T @ residual / (2 * max(count - dimension - 1, 1))
    M += 1e-6 * np.trace(M) / dimension * np.eye(dimension)
    sigma = np.linalg.cholesky(2 * M)
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
    return LinearModel(mean, np.linalg.inv(C), sigma, (W - W.T) / 2, result)


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


@eqx.filter_jit
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
