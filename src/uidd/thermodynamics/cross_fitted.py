"""Means of products of learned fields, free of the noise that a square would carry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail
from .._programs import compiled
from .._types import Matrix, Result, State
from ..data import Transitions
from ..dynamics import matrix_divergence
from ..models import Model
from .records import Estimate

# Models up to which all signs are tried.
MOST_SIGNS = 14


@dataclass(frozen=True)
class CrossFitted:
    """A mean square, estimated from models of independent data.

    Attributes:
        corrected: From products of two different models: their noises are independent, and average out.
        plug_in: The square of one model, averaged over models. Noise in a model adds to it.
        products: E a_k . b_l for all pairs of models, symmetric.
        chance: How often models of no field at all would give as large a value, noise being as likely as its
            negative: the share of all choices of signs s_k for which the mean of s_k s_l a_k . a_l over pairs
            is not below `corrected`. At least 2^(1 - K).
    """

    corrected: Estimate
    plug_in: float
    products: np.ndarray
    chance: float

    @property
    def bias(self) -> float:
        """What the noise of the models adds to the plug-in."""
        return self.plug_in - self.corrected.rate


def cross_fitted_entropy_production(
    models: Sequence[Model], states: np.ndarray, *, currents: np.ndarray | None = None
) -> CrossFitted:
    """S = E f_irr^T M^-1 f_irr over the given stationary states, with f_irr of two models in every product.

    With `currents`, estimates of f_irr that no W had to learn, S = E w . (2 f - w) in the metric M^-1, where
    w is the models' f_irr and f the given one. What W has not learned, w = f_irr - e, then counts as |e|^2
    alone; and what V has wrong, f = f_irr + M grad d, not at all as long as w conserves the density, since
    w . grad d is zero on average.

    M is the mean of the models'. The error is that of `cross_fitted`.

    Args:
        models: Of independent parts of the data, from `fit_replicas`.
        states: Draws `(n, D)` from the stationary density that no model has seen.
        currents: f_irr `(K, n, D)` as all of the drift that is not reversible, `Replicas.currents`.
    """
    w, root = _fields(models, states)
    if currents is None:
        return cross_fitted(np.linalg.solve(root, w[..., None])[..., 0])
    pair = np.linalg.solve(root, np.stack([w, 2 * currents - w], axis=-1))
    return cross_fitted(pair[..., 0], pair[..., 1])


def cross_fitted_work(
    forces: Callable[[np.ndarray], np.ndarray], parts: Sequence[Transitions]
) -> CrossFitted:
    """S = E F(z + dz / 2) . dz / dt, the work of F = M^-1 f_irr of one part along another.

    A step and the same step taken backwards do opposite work, so in detailed balance the mean is zero for
    every F, right or wrong. And a V that is off, F = M^-1 f_irr + grad d, does no other work on average:
    grad d . dz is the change of d, which comes and goes.

    Noise in F is of either sign where there is no current, and so is the work of a given F. `chance` is the
    larger of those of turning the signs of paths and forces together, and of paths alone: the first
    would take an error that all forces share for a current, the second the noise that paths and forces share.

    Args:
        forces: From states `(n, D)` to F of every part `(K, n, D)`.
        parts: The K parts, with the pairs of each.
    """
    work = []
    for part in parts:
        F = forces(part.start + part.increment / 2)
        work.append(np.einsum("knd,nd->k", F, part.increment) / part.dt.sum())
    of_paths = np.stack(work)
    products = (of_paths + of_paths.T) / 2
    rate = Estimate(_off_diagonal_mean(products), _model_error(products))
    chance = max(_chance(products), _chance_of_sums(of_paths))
    return CrossFitted(rate, float(np.mean(np.diag(products))), products, chance)


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


def cross_fitted(
    fields: np.ndarray, partners: np.ndarray | None = None, *, stretches: int | None = None
) -> CrossFitted:
    """E a . b from independent estimates `(K, n, D)` of a field a, and of b, which is a unless it is given.

    The error over the models is a jackknife. With P_kl = theta + g_k + g_l + d_kl the variance of the mean
    over pairs is 4 var(g) / K + 2 var(d) / (K (K - 1)), and the jackknife counts the second term about twice
    (Efron & Stein 1981), which is all there is where the field vanishes. It is taken off again.

    Args:
        fields: a of the models, at every state.
        partners: b of the models; every a meets the b of the other models.
        stretches: Into how many independent stretches of equal length the states fall, in order; by default
            every state is one.
    """
    K, n, _ = fields.shape
    if K < 2:
        fail("fields", "those of at least two models", K)
    b = fields if partners is None else partners
    products = fields.reshape(K, -1) @ b.reshape(K, -1).T / n
    products = (products + products.T) / 2
    # Of the states: at each the mean product of different models, (sum a . sum b - sum a . b) / (K (K - 1)).
    sums = np.sum(fields.sum(axis=0) * b.sum(axis=0), axis=1)
    local = (sums - np.sum(fields * b, axis=(0, 2))) / (K * (K - 1))
    if stretches is not None:
        local = np.array([part.mean() for part in np.array_split(local, stretches)])
    error = np.hypot(_model_error(products), local.std(ddof=1) / len(local) ** 0.5)
    result = Result() if K > 2 else Result("no_error", "Two models make one product; an error needs three.")
    rate = Estimate(_off_diagonal_mean(products), float(error), result)
    return CrossFitted(rate, float(np.mean(np.diag(products))), products, _chance(products))


def _model_error(products: np.ndarray) -> float:
    K = len(products)
    if K < 3:
        return float("nan")
    mean, off = _off_diagonal_mean(products), products - np.diag(np.diag(products))
    rows = off.sum(axis=1) / (K - 1)
    # The mean without model k is (K mean - 2 rows_k) / (K - 2).
    jackknife = (K - 1) / K * 4 / (K - 2) ** 2 * np.sum((rows - mean) ** 2)
    if K < 4:
        return float(jackknife**0.5)
    g = (K - 1) / (K - 2) * (rows - mean)
    d = (products - mean - g[:, None] - g)[np.triu_indices(K, 1)]
    d_variance = np.sum(d**2) / (K * (K - 3) / 2)
    least = 2 / (K * (K - 1)) * d_variance
    return float(max(jackknife - 2 / ((K - 1) * (K - 2)) * d_variance, least) ** 0.5)


def _chance(products: np.ndarray) -> float:
    """Of as large a sum, with the signs of all models turned in every way."""
    off, signs = products - np.diag(np.diag(products)), _signs(len(products))
    values = np.einsum("sk,kl,sl->s", signs, off, signs, optimize=True)
    return float(np.mean(values >= values[0] - 1e-9 * np.abs(off).sum()))


def _chance_of_sums(products: np.ndarray) -> float:
    """The same, with the signs of whole rows turned."""
    rows, signs = (products - np.diag(np.diag(products))).sum(axis=1), _signs(len(products))
    values = np.concatenate([signs @ rows, -signs @ rows])
    return float(np.mean(values >= values[0] - 1e-9 * np.abs(rows).sum()))


def _signs(K: int) -> np.ndarray:
    """All signs of K up to the common one, for up to 14; else some of them, drawn once and for all."""
    if K <= MOST_SIGNS:
        bits = (np.arange(2 ** (K - 1))[:, None] >> np.arange(K)) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, (2 ** (MOST_SIGNS - 1), K))
        bits[0] = 0
    return 1.0 - 2.0 * bits


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
