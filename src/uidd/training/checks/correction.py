"""What a mean over e^-V misses of the rate: one step towards the truth, from the residuals of a recording."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._programs import compiled
from ...data import Transitions
from ...dynamics import solve_lower
from ...likelihood import AbstractGaussian
from ...models import Coefficients, Model
from ...sampling import sample_stationary
from ..regression.features import FEATURES, bounded, whitener
from ..regression.misfit import FEWEST_EACH, LEAST
from .checks import residuals

MOST_PAIRS, DRAWS, CHUNK = 100_000, 20_000, 8192


def rate_correction(
    model: Model, likelihood: AbstractGaussian, pairs: Transitions, recorded: np.ndarray, *, seed: int
) -> tuple[float, float]:
    """By how much the rate over e^-V is larger than the model's, and its error, in k_B per unit time.

    A fit is right where the recording was: over recorded states the drift delta that it misses is orthogonal
    to whatever the model could be, its own current among that. Over e^-V it is not, if the recording is not
    stationary, and then the rate S = E |f|^2 (in the metric M^-1, f the irreversible drift) lacks its first
    variation, 2 E f . delta. (A reversible delta adds nothing: E f . grad u = 0 over e^-V.)

    Residuals xi of the pairs know delta. With g = sigma^-1 f they have the mean sigma^-1 delta dt^(1/2), so
    sum r . xi dt^(1/2) has the mean E 2 g . (sigma^-1 delta) for every delta in the span of features phi if

        r = phi . a,    (sum phi phi^T dt + L) a = E 2 phi g,

    which weighs pairs as e^-V does without asking for any density (the Riesz representer of the mean;
    Chernozhukov and others 2022). Its variance is sum |r|^2 dt, large where e^-V has few pairs.

    Args:
        model: The fitted one.
        likelihood: Its transition density.
        pairs: Recorded ones, in unit-size coordinates.
        recorded: Recorded states, in the user's coordinates: draws stay as near to some as these are.
        seed: Of the draws.
    """
    samples = sample_stationary(model, DRAWS, seed=seed, within=recorded)
    if not samples.result.successful:
        return 0.0, 0.0
    draws = np.asarray(model.scaling.to_unit(samples.chains.reshape(-1, model.dimension)))
    stride = -(-len(pairs.dt) // MOST_PAIRS)
    pairs = Transitions(*(part[::stride] for part in pairs))
    xi = residuals(Coefficients.of(model.unit), likelihood, pairs)
    g = np.asarray(_current(model.unit, jnp.asarray(draws, jnp.result_type(float))), np.float64)
    whitened = whitener(pairs.start)
    there, root = bounded(whitened(draws)), np.sqrt(pairs.dt)[:, None]

    def features(states: np.ndarray) -> np.ndarray:
        u = bounded(whitened(states))
        return np.concatenate([np.ones((len(u), 1)), u, *(of(u, there) for of in FEATURES.values())], axis=1)

    parts = [features(draws[k : k + CHUNK]).T @ g[k : k + CHUNK] for k in range(0, len(draws), CHUNK)]
    wanted = np.sum(parts, axis=0)
    gram, found = np.zeros((len(wanted), len(wanted))), np.zeros_like(wanted)
    for k in range(0, len(xi), CHUNK):
        phi = features(pairs.start[k : k + CHUNK]) * root[k : k + CHUNK]
        gram += phi.T @ phi
        found += phi.T @ xi[k : k + CHUNK]
    size = np.sqrt(np.diag(gram))
    some = size > 1e-6 * size.max()
    if len(xi) < FEWEST_EACH * some.sum():
        return 0.0, 0.0
    size, gram = size[some], gram[np.ix_(some, some)]
    gram = gram / size[:, None] / size
    a = np.linalg.solve(gram + LEAST * np.eye(len(gram)), 2 * wanted[some] / size[:, None] / len(draws))
    missed, variance = float(np.sum(a * (found[some] / size[:, None]))), float(np.sum(a * (gram @ a)))
    return 2 * missed / model.scaling.time, 2 * variance**0.5 / model.scaling.time


@compiled
def _current(unit, states):
    """sigma^-1 f_irr."""

    def one(z):
        return solve_lower(unit.diffusion(z), unit.irreversible_drift(z))

    return jax.lax.map(one, states, batch_size=4096)
