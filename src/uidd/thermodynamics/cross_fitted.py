"""Means of products of learned fields, free of the noise that a square would carry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from .._types import Matrix, Result, State
from ..dynamics import matrix_divergence
from ..models import Model
from .records import Estimate


@dataclass(frozen=True)
class CrossFitted:
    """A mean square, estimated from models of independent data.

    Attributes:
        corrected: From products of two different models: their noises are independent, and average out.
        plug_in: The square of one model, averaged over models. Noise in a model adds to it.
        products: E a_k . a_l for all pairs of models.
    """

    corrected: Estimate
    plug_in: float
    products: np.ndarray

    @property
    def bias(self) -> float:
        """What the noise of the models adds to the plug-in."""
        return self.plug_in - self.corrected.rate


def cross_fitted_entropy_production(
    models: Sequence[Model], states: np.ndarray, *, currents: np.ndarray | None = None
) -> CrossFitted:
    """S = E f_irr^T M^-1 f_irr over the given stationary states, with f_irr of two models in every product.

    M is the mean of the models'. The error is a jackknife over the models, joined with that of the states.

    Args:
        models: Of independent parts of the data, from `fit_replicas`.
        states: Draws `(n, D)` from the stationary density that no model has seen.
        currents: Other estimates `(K, n, D)` of f_irr than the models' own.
    """
    f, root = _fields(models, states)
    f = f if currents is None else currents
    return cross_fitted(np.linalg.solve(root, f[..., None])[..., 0])


def cross_fitted_fisher_information(
    models: Sequence[Model], states: np.ndarray, noise: float | Callable[[State], Matrix]
) -> CrossFitted:
    """I(p_b, p_inf) = E |grad L - grad V|^2, the relative Fisher information, from the models alone.

    p_b = e^-V is the stationary density of a sampler, and p_inf = e^-L that of its full batch: of the same
    drift f with the injected noise alone, M_0 = R R^T / 2, so f = -M_0 grad L + div M_0. With
    M = M_0 + eta Sigma / 2

        M_0 (grad L - grad V) = (eta / 2)(Sigma grad V - div Sigma) - f_irr = div M_0 - f - M_0 grad V.

    The first form is the paper's with two signs corrected; the second needs no Sigma.

    Args:
        models: Of independent parts of the data.
        states: Draws from p_b.
        noise: The injected variance per unit time, or from a state to R.
    """
    gaps = [score_gap(states, *_drift_and_gradient(model, states), noise) for model in models]
    return cross_fitted(np.stack(gaps))


def score_gap(
    states: np.ndarray, f: np.ndarray, dV: np.ndarray, noise: float | Callable[[State], Matrix]
) -> np.ndarray:
    """grad L - grad V = M_0^-1 (div M_0 - f) - grad V at every state, from f and grad V there."""
    M_0, div = (np.asarray(each, np.float64) for each in _injected(noise, jnp.asarray(states)))
    return np.linalg.solve(M_0, (div - f)[..., None])[..., 0] - dV


def cross_fitted(fields: np.ndarray) -> CrossFitted:
    """E a . a from independent estimates `(K, n, D)` of a field a."""
    K, n, _ = fields.shape
    if K < 2:
        fail("fields", "those of at least two models", K)
    flat = fields.reshape(K, -1)
    products = flat @ flat.T / n
    rate = _off_diagonal_mean(products)
    left_out = np.array([_off_diagonal_mean(np.delete(np.delete(products, k, 0), k, 1)) for k in range(K)])
    jackknife = np.sqrt((K - 1) / K * np.sum((left_out - left_out.mean()) ** 2)) if K > 2 else np.nan
    # Of the states: at each the mean product of different models, (|sum a|^2 - sum |a|^2) / (K (K - 1)).
    local = (np.sum(fields.sum(axis=0) ** 2, axis=1) - np.sum(fields**2, axis=(0, 2))) / (K * (K - 1))
    error = np.hypot(jackknife, local.std() / n**0.5)
    result = Result() if K > 2 else Result("no_error", "Two models make one product; an error needs three.")
    corrected = Estimate(float(rate), float(error), result)
    return CrossFitted(corrected, float(np.mean(np.diag(products))), products)


def _off_diagonal_mean(products: np.ndarray) -> float:
    K = len(products)
    return float((products.sum() - np.trace(products)) / (K * (K - 1))) if K > 1 else float("nan")


def _fields(models: Sequence[Model], states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f_irr of every model in the user's units, and a root of their mean M."""
    fields, dissipations = [], []
    for model in models:
        unit = jnp.asarray(model.scaling.to_unit(states), jnp.result_type(float))
        f, sigma = _irreversible(model.unit, unit)
        scale, time = np.asarray(model.scaling.scale), model.scaling.time
        fields.append(np.asarray(f, np.float64) * scale / time)
        sigma = np.asarray(sigma, np.float64) * scale[:, None]
        dissipations.append(sigma @ sigma.transpose(0, 2, 1) / (2 * time))
    return np.stack(fields), np.linalg.cholesky(np.mean(dissipations, axis=0))


def _drift_and_gradient(model: Model, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaling = model.scaling  # in unit-size coordinates no digit is lost to offsets
    unit = jnp.asarray(scaling.to_unit(states), jnp.result_type(float))
    f, dV = (np.asarray(each, np.float64) for each in _mapped_drift_and_gradient(model.unit, unit))
    scale = np.asarray(scaling.scale)
    return f * scale / scaling.time, dV / scale


@compiled
def _irreversible(dynamics, states):
    return jax.lax.map(
        lambda z: (dynamics.irreversible_drift(z), dynamics.diffusion(z)), states, batch_size=4096
    )


@compiled
def _mapped_drift_and_gradient(dynamics, states):
    return jax.lax.map(lambda z: (dynamics.drift(z), dynamics.potential_gradient(z)), states, batch_size=4096)


@compiled
def _injected(noise: float | Callable[[State], Matrix], states):
    def M_0(z):
        R = noise(z) if callable(noise) else noise**0.5 * jnp.eye(len(z), dtype=z.dtype)
        return R @ R.T / 2

    return jax.lax.map(lambda z: (M_0(z), matrix_divergence(M_0, z)), states, batch_size=4096)
