"""A drift without any structure, followed over the interval: what V, W and the noise are started from."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ...components import Network
from ...data import Transitions
from .flow import CHUNK, features_of_all, linearised, propagated, pulled, residuals_and_drift
from .independent_components import ica_frame

MOST_PAIRS, MOST_COEFFICIENTS = 16_384, 1200
MOST_UNITS, SCALES = 192, (0.3, 1.0, 3.0)
# Runge-Kutta steps an interval, tried in turn until twice as many make no difference beside the noise.
STEPS = (1, 2, 4)
MOST_ITERATIONS, TRIALS, REWEIGHTED = 12, 5, 4
# Of the evidence of the priors, in the Euler regression.
UPDATES = 10
# Of the matrix that shapes a step.
MOST_PRODUCTS = 4e10
# Residuals beyond some standard deviations count little in the fit, and are cut off afterwards.
BROAD, CUT = 3.0, 5.0
# Noise that the flow carries along is believed to shrink and grow so far.
LEAST, MOST = 0.1, 1.5


@dataclass(frozen=True)
class FreeDrift:
    """f(z) = C^T (tanh(A z + a), z, 1), such that following z' = f over dt gives the mean next state.

    Attributes:
        hidden: A and a, the units of a drawn network.
        coefficients: C.
        ridge: What the prior of every feature adds to the sum of its squares; the data choose it.
        dissipation: M, from what the flow does not explain.
        steps: Runge-Kutta steps an interval.
    """

    hidden: tuple[np.ndarray, np.ndarray]
    coefficients: np.ndarray
    ridge: np.ndarray
    dissipation: np.ndarray
    steps: int

    @classmethod
    def of(cls, pairs: Transitions) -> "FreeDrift":
        """Marquardt's iteration for the least squares of next states, starting from the Euler regression.

        Drift, V, W and M enter the likelihood as products, and a model that starts far away gets lost where
        frames are far apart. This problem has no products, and its solution leaves a nearly linear one.
        """
        dimension, chosen = pairs.start.shape[1], _chosen(len(pairs.dt))
        some = tuple(jnp.asarray(part[chosen], jnp.result_type(float)) for part in pairs)
        # As many units as an information matrix of this size has room for.
        most = max(3, min(MOST_UNITS, MOST_COEFFICIENTS // dimension - dimension - 1))
        units = Network.drawn(dimension, 1, most, SCALES)
        A, a = (np.asarray(part) for part in units.hidden[0])
        if dimension > 1:
            A = (ica_frame(pairs.start) @ A).astype(A.dtype)
        hidden = A, a
        (C, ridge, effective), steps = _regressed(hidden, units.scale_of_unit, some), 1
        for steps in STEPS:
            C = _iterated(hidden, C, ridge, some, steps)
            residuals, _ = _followed(hidden, C, some, steps)
            finer, _ = _followed(hidden, C, some, 2 * steps)
            noise = _spread(residuals)
            if np.nanquantile(np.abs(residuals - finer) / noise, 0.95) < 0.03:
                break
        return cls(hidden, C, ridge, _dissipation(hidden, C, effective, some, steps), steps)

    def as_euler_steps(self, pairs: Transitions) -> Transitions:
        """Increments as Euler's scheme would have made them of that noise: dt f(z) + sqrt(2 M dt) xi."""
        xi, drift = self.whitened(pairs)
        noise = xi @ np.linalg.cholesky(2 * self.dissipation).T * np.sqrt(pairs.dt)[:, None]
        return Transitions(pairs.start, drift * np.asarray(pairs.dt)[:, None] + noise, pairs.dt)

    def whitened(self, pairs: Transitions) -> tuple[np.ndarray, np.ndarray]:
        """xi, the recorded noise over the root of its covariance at z, and the drift there.

        Noise is cut off at five standard deviations. It is carried along by the flow, so that what arrives
        depends on z even where M does not.
        """
        arrays = tuple(jnp.asarray(part, jnp.result_type(float)) for part in pairs)
        residuals, drift = _followed(self.hidden, self.coefficients, arrays, self.steps)
        limit = CUT * _spread(residuals)
        noise = np.clip(np.nan_to_num(residuals), -limit, limit)
        M, dt = self.dissipation, np.asarray(pairs.dt, np.float64)
        alone = 2 * M * dt[:, None, None]
        Q = alone / 6
        for share, weight in ((1.0, 1.0), (0.5, 4.0)):
            C = jnp.asarray(self.coefficients, arrays[0].dtype)
            Phi = np.asarray(propagated(self.hidden, C, arrays[0], share * arrays[2], self.steps), np.float64)
            Q = Q + weight * dt[:, None, None] / 6 * (Phi @ (2 * M) @ Phi.transpose(0, 2, 1))
        # Where few pairs are, the free drift may be far off: its flow is believed if it changes little.
        ratio = np.einsum("ij,nji->n", np.linalg.inv(2 * M), np.nan_to_num(Q, nan=np.inf)) / (len(M) * dt)
        Q = np.where(((ratio > LEAST) & (ratio < MOST))[:, None, None], Q, alone)
        return np.linalg.solve(np.linalg.cholesky(Q), noise[:, :, None])[:, :, 0], drift

    def fitted(self, pairs: Transitions) -> tuple[np.ndarray, np.ndarray]:
        """Which of the pairs the drift was fitted to, and xi of these as large as that of others would be.

        A regression follows the noise of the pairs that it is fitted to. Of the variance of a pair it takes
        the leverage h = x^T (X^T X)^-1 x, most where pairs are few, as if the noise were smaller there.
        """
        chosen = _chosen(len(pairs.dt))
        some = Transitions(*(part[chosen] for part in pairs))
        xi, _ = self.whitened(some)
        X = np.asarray(
            features_of_all(self.hidden, jnp.asarray(some.start, jnp.result_type(float))), np.float64
        )
        X = X * np.sqrt(some.dt)[:, None]
        h = np.sum(X * _solved(X.T @ X + np.diag(self.ridge), X.T).T, axis=1)
        return chosen, xi / np.sqrt(np.maximum(1 - h, 0.1))[:, None]


def _regressed(hidden, scale: np.ndarray, pairs) -> tuple[np.ndarray, np.ndarray, float]:
    """The Euler regression, with the Cauchy weights of what it leaves, a few times over.

    The units of each scale have a prior, as wide as the evidence has it (MacKay 1992). Without one a drift of
    some hundred units has a slope that is mostly noise, and so has the noise that the flow carries along:
    constant noise would pass for varying.

    Returns:
        The coefficients, the ridge of every feature, and how many coefficients of a coordinate the data set.
    """
    start, increment, dt = pairs
    root = np.sqrt(np.asarray(dt, np.float64))[:, None]
    X = np.asarray(features_of_all(hidden, start), np.float64) * root
    target, weight = np.asarray(increment, np.float64) / root, np.ones_like(root)
    C, known = np.zeros((X.shape[1], target.shape[1])), np.ones(X.shape[1])
    ridge = np.zeros(X.shape[1])
    ridge[: len(scale)] = 1.0
    for _ in range(REWEIGHTED):
        noise = _spread(target - X @ C)
        gram, products = X.T @ (weight * X), X.T @ (weight * target)
        for _ in range(UPDATES):
            covariance = _solved(gram + np.diag(ridge), np.eye(len(gram)))
            C, known = covariance @ products, 1 - ridge * np.diag(covariance)
            for k in range(scale.max() + 1):
                own = np.flatnonzero(scale == k)
                ridge[own] = known[own].sum() * len(noise) / max(np.sum((C[own] / noise) ** 2), 1e-12)
        weight = 1 / (1 + np.sum(((target - X @ C) / noise) ** 2, axis=1, keepdims=True) / BROAD**2)
    return C, ridge, float(known.sum())


def _iterated(hidden, C: np.ndarray, ridge: np.ndarray, pairs, steps: int) -> np.ndarray:
    damping = 1e-6
    for _ in range(MOST_ITERATIONS):
        residuals, _ = _followed(hidden, C, pairs, steps)
        noise = _spread(residuals)
        L = ridge[:, None] / noise**2
        cost = _cost(residuals, noise) + np.sum(L * C**2) / 2
        F, g = _normal_equations(hidden, C, pairs, residuals, noise, steps)
        F += 1e-9 * np.trace(F) / len(F) * np.eye(len(F)) + np.diag(L.ravel())
        g -= (L * C).ravel()
        for _ in range(TRIALS):
            move = np.linalg.solve(F + damping * np.diag(np.diag(F)), g).reshape(C.shape)
            reached = _cost(_followed(hidden, C + move, pairs, steps)[0], noise)
            reached += np.sum(L * (C + move) ** 2) / 2
            if reached < cost:
                break
            damping *= 10
        else:
            return C
        C, damping = C + move, max(damping / 10, 1e-7)
        if cost - reached < 1.0:
            break
    return C


def _normal_equations(hidden, C, pairs, residuals, noise, steps) -> tuple[np.ndarray, np.ndarray]:
    """J^T w J and J^T w r, with Cauchy weights w: a slip of the instrument must not change the drift.

    The first only shapes the steps: some pairs are enough for it where coefficients are many.
    """
    C, start, dt = jnp.asarray(C, pairs[0].dtype), pairs[0], pairs[2]
    weight = 1 / (1 + np.sum((residuals / noise) ** 2, axis=1) / BROAD**2)
    usable = np.isfinite(residuals).all(axis=1) & np.isfinite(weight)
    pull = np.where(usable[:, None], weight[:, None] * residuals / noise**2, 0.0)
    g = np.asarray(pulled(hidden, C, start, dt, jnp.asarray(pull, start.dtype), steps), np.float64).ravel()
    F = np.zeros((C.size, C.size))
    looked_at = min(len(dt), max(2 * len(C), int(MOST_PRODUCTS / (C.shape[1] * C.size**2))))
    for first in range(0, looked_at, CHUNK):
        rows = slice(first, min(first + CHUNK, looked_at))
        J = np.asarray(linearised(hidden, C, start[rows], dt[rows], steps), np.float64)
        usable_here = usable[rows] & np.isfinite(J).all(axis=(1, 2))
        J = np.where(usable_here[:, None, None], J / noise[:, None], 0.0)
        J = (J * np.sqrt(np.where(usable_here, weight[rows], 0.0))[:, None, None]).reshape(-1, C.size)
        F += J.T @ J
    return F * (len(dt) / looked_at), np.where(np.isfinite(g), g, 0.0)


def _chosen(count: int) -> np.ndarray:
    """The pairs that the drift is fitted to."""
    return np.sort(np.random.default_rng(0).choice(count, min(MOST_PAIRS, count), replace=False))


def _solved(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.solve(gram + 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram)), right)


def _followed(hidden, C, pairs, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """What is left of the increments, and the drift."""
    found = residuals_and_drift(hidden, jnp.asarray(C, pairs[0].dtype), pairs[0], pairs[1], pairs[2], steps)
    residuals, drift = (np.asarray(part, np.float64) for part in found)
    return residuals, drift


def _spread(residuals: np.ndarray) -> np.ndarray:
    """The standard deviation of each coordinate, from the median."""
    return 1.4826 * np.nanmedian(np.abs(residuals), axis=0) + 1e-12


def _cost(residuals: np.ndarray, noise: np.ndarray) -> float:
    square = np.sum((np.nan_to_num(residuals, nan=1e6, posinf=1e6, neginf=-1e6) / noise) ** 2, axis=1)
    return float(BROAD**2 / 2 * np.sum(np.log1p(square / BROAD**2)))


def _dissipation(hidden, C, effective: float, pairs, steps: int) -> np.ndarray:
    """M from the covariance Q of the residuals.

    Noise that enters earlier is carried along by the flow, whose derivative is Phi. By Simpson's rule
    Q = dt <2 M + 4 Phi' 2 M Phi'^T + Phi 2 M Phi^T> / 6, Phi' over half the interval, which is linear in M.
    """
    residuals, _ = _followed(hidden, C, pairs, steps)
    kept = (np.abs(residuals) < CUT * _spread(residuals)).all(axis=1)
    start, _, dt = pairs
    Q = residuals[kept].T @ residuals[kept] / max(kept.sum() - effective, 1) / float(np.mean(np.asarray(dt)))
    dimension = len(Q)
    total = np.eye(dimension**2)
    for share, weight in ((1.0, 1.0), (0.5, 4.0)):
        found = propagated(hidden, jnp.asarray(C, start.dtype), start, share * dt, steps)
        Phi = np.asarray(found, np.float64)
        Phi = Phi[kept & np.isfinite(Phi).all(axis=(1, 2)) & (np.abs(Phi) < 10).all(axis=(1, 2))]
        both = np.einsum("nij,nkl->ikjl", Phi, Phi, optimize=True).reshape(dimension**2, -1)
        total += weight * both / max(len(Phi), 1)
    M = np.linalg.solve(total / 3, Q.ravel()).reshape(Q.shape)
    M = (M + M.T) / 2
    return M if np.linalg.eigvalsh(M).min() > 0.1 * np.linalg.eigvalsh(Q).min() > 0 else Q / 2
