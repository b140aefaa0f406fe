"""Means of products of learned fields, free of the noise that a square would carry."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
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


def cross_fitted_fisher_information(models: Sequence[Model], states: np.ndarray, noise: float) -> CrossFitted:
    """I(p_b, p_inf) = E |grad L - grad V|^2, the relative Fisher information, from the models alone.

    Of a sampler with injected noise of variance `noise` per unit time, M_0 = noise / 2. Its full batch has
    the density e^-L with -M_0 grad L = f, the drift. With M = M_0 + eta Sigma / 2

        M_0 (grad L - grad V) = (eta / 2)(Sigma grad V - div Sigma) - f_irr = -f - M_0 grad V,

    the corrected form of the paper's display, which has two other signs. No Sigma has to be known.
    """
    gap = _score_gaps(models, states, noise / 2)
    return cross_fitted(gap)


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
    return CrossFitted(Estimate(float(rate), float(error)), float(np.mean(np.diag(products))), products)


def _off_diagonal_mean(products: np.ndarray) -> float:
    K = len(products)
    return float((products.sum() - np.trace(products)) / (K * (K - 1))) if K > 1 else float("nan")


def _fields(models: Sequence[Model], states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f_irr of every model in unit coordinates and the user's time, and a root of their mean M."""
    fields, dissipations = [], []
    for model in models:
        unit = jnp.asarray(model.scaling.to_unit(states), jnp.result_type(float))
        f, sigma = _irreversible(model.unit, unit)
        scale, time = np.asarray(model.scaling.scale), model.scaling.time
        fields.append(np.asarray(f, np.float64) * scale / time)
        sigma = np.asarray(sigma, np.float64) * scale[:, None]
        dissipations.append(sigma @ sigma.transpose(0, 2, 1) / (2 * time))
    return np.stack(fields), np.linalg.cholesky(np.mean(dissipations, axis=0))


def _score_gaps(models: Sequence[Model], states: np.ndarray, M_0: float) -> np.ndarray:
    gaps = []
    for model in models:
        unit = jnp.asarray(model.scaling.to_unit(states), jnp.result_type(float))
        f, dV = (np.asarray(each, np.float64) for each in _drift_and_gradient(model.unit, unit))
        scale = np.asarray(model.scaling.scale)
        gaps.append(-f * scale / model.scaling.time / M_0 - dV / scale)
    return np.stack(gaps)


@compiled
def _irreversible(dynamics, states):
    return jax.lax.map(lambda z: (dynamics.irreversible_drift(z), dynamics.diffusion(z)), states, batch_size=4096)


@compiled
def _drift_and_gradient(dynamics, states):
    return jax.lax.map(lambda z: (dynamics.drift(z), dynamics.potential_gradient(z)), states, batch_size=4096)
