"""What a fit assumes, asked of its residuals: one verdict a line."""

from math import hypot

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from ..._programs import compiled
from ...data import Trajectories, Transitions
from ...dynamics import AbstractDynamics, ComponentDynamics, solve_lower
from ...likelihood import AbstractGaussian, AbstractLikelihood, EulerMaruyama
from ...models import Coefficients, Model
from ..regression.misfit import Misfit, both_misfits
from ..regression.optimism import Optimism
from ..solvers.posterior import Solution
from ..solvers.sample import Sample
from ..solvers.scores import Whitened, whitened
from ..undetected import rate_worth, share_of_currents
from .own_drift import own_drift_misfit
from .verdicts import ADVICE, LARGEST_CHANCE, Check, Checks, line

# Pairs that are asked, of a model with networks and of one without, whose residuals cost next to nothing.
MOST_PAIRS, MOST_OF_LINEAR, BLOCKS = 100_000, 300_000, 64
# Steps of the model's own that are optimism finely, and into how many.
FOLLOWED, FINER = 16_384, 16
# Steps that are asked one by one whether noise can make them.
MOST_OUTLIERS = 64


def checked(
    model: Model,
    likelihood: AbstractLikelihood,
    test: Trajectories,
    fitted: Transitions | None = None,
    solution: Solution | None = None,
) -> Checks:
    """Whitened residuals of held-out transitions against the state, their past, a Gaussian, and time.

    If the model is right they are independent standard normal numbers, whatever the state was; but for what
    the likelihood makes of frames that are far apart, which steps that the model makes itself show, too.

    What is left of drift and noise is looked for in the pairs that were fitted, too: there are many more of
    them, and what a fit has taken out of their residuals is known (`Optimism`).

    Args:
        model: The fitted one.
        likelihood: Its transition density.
        test: Paths that took no part.
        fitted: Pairs that did, in unit-size coordinates.
        solution: What is known of the coefficients.
    """
    if not isinstance(likelihood, AbstractGaussian):
        return Checks()
    own = Coefficients.of(model.unit)
    most = MOST_PAIRS if own.penalised.any() else MOST_OF_LINEAR
    pairs, place, follows = _consecutive(test, most)
    unit = model.scaling.transitions_to_unit(pairs)
    seen = _seen(own, likelihood, unit)
    xi = _bounded(seen)
    D, dt = xi.shape[1], float(np.mean(unit.dt))
    sigma = np.asarray(_typical_noise(model.unit, jnp.asarray(unit.start[:: max(1, len(xi) // 512)])))
    # |M^-1 df| for a drift that is off by one standard deviation of the noise of a step.
    steepness = 2 * float(np.mean(np.linalg.norm(np.linalg.inv(sigma), axis=(1, 2)))) / np.sqrt(D * dt)
    looked_at, left, euler_pairs = unit, xi, seen.euler_pairs
    was_fitted = np.zeros(len(xi), bool)
    if fitted is not None and len(xi) < most:
        stride = -(-len(fitted.dt) // (most - len(xi)))
        some = Transitions(*(part[::stride] for part in fitted))
        looked_at = Transitions(*(np.concatenate(parts) for parts in zip(unit, some, strict=True)))
        seen = _seen(own, likelihood, some)
        left, euler_pairs = np.concatenate([xi, _bounded(seen)]), euler_pairs.joined(seen.euler_pairs)
        was_fitted = np.arange(len(left)) >= len(xi)
    optimism = None
    if solution is not None and fitted is not None:
        optimism = Optimism.of(own, solution, euler_pairs, was_fitted, len(fitted.dt))
    misfit, noise = both_misfits(looked_at.start, left, optimism)
    irreversible, whole = _in_noise(model.unit, looked_at.start)
    strength = own_drift_misfit(whole * np.sqrt(looked_at.dt)[:, None], left, optimism)
    drift = _worst(
        *((each.chance, _size_of_drift(each, len(left), steepness)) for each in (misfit, strength))
    )
    noise = noise.chance, _size_of_noise(noise, len(left))
    hidden = share_of_currents(D) * misfit.hidden
    unseen = rate_worth(hidden, float(np.sum(looked_at.dt)) * model.scaling.time)
    coarse, own_xi, noises = (1.0, 0.0), None, [noise]
    # Whoever chooses Euler's scheme says that the process makes steps of this length.
    if not isinstance(likelihood, EulerMaruyama):
        steps = _made_by(model.unit, unit)
        own_xi = residuals(own, likelihood, steps)
        own_drift, own_noise = both_misfits(steps.start, own_xi)
        noises.append((own_noise.chance, _size_of_noise(own_noise, len(own_xi))))
        coarse = _worst(
            _tails(own_xi),
            (own_drift.chance, _size_of_drift(own_drift, len(own_xi), steepness)),
            noises[-1],
        )
    lines = [line("coarse", *coarse), line("drift", *drift), line("noise", *noise)]
    lines.append(line("memory", *_memory(xi, follows)))
    outliers = _outliers(model.unit, likelihood, looked_at, left)
    outliers = outliers[0], steepness * outliers[1]
    lines.append(line("tails", *_worst(_tails(xi, own_xi), outliers)))
    lines.append(line("not_stationary", *_course(xi, place)))
    lines.append(_work(irreversible[: len(xi)], unit.dt, xi, model.scaling.time))
    # The variance of residuals is off by as much, relatively, in recorded steps or in the model's own.
    noise_error = hypot(*(size for chance, size in noises if chance < LARGEST_CHANCE))
    return Checks(tuple(lines), unseen, noise_error)


def _size_of_drift(misfit: Misfit, count: int, steepness: float) -> float:
    """In kT: what V could be off by."""
    return steepness * float(np.sqrt(2 * misfit.nats / count))


def _size_of_noise(misfit: Misfit, count: int) -> float:
    """In kT, of a variance of residuals that depends on the state.

    A covariance that is off by P^(1/2) d P^(1/2) costs |d|^2 / 4 nats a pair. In one dimension V' - V is
    log(1 + d) - int f d / M, about d and about d V, and V varies by about one kT: V is off by |d|.
    """
    return float(np.sqrt(4 * misfit.nats / count))


def _worst(*found: tuple[float, float]) -> tuple[float, float]:
    """Of several chances and sizes in one line: the smallest chance, and the largest size that is real."""
    real = [size for chance, size in found if len(found) * chance < LARGEST_CHANCE]
    return min(1.0, len(found) * min(chance for chance, _ in found)), max(real, default=0.0)


def _memory(xi: np.ndarray, follows: np.ndarray) -> tuple[float, float]:
    """<xi_k xi_(k+1)>, which is zero: its square sums to chi-squared."""
    before, after = xi[:-1][follows[1:]], xi[1:][follows[1:]]
    if len(before) < 100:
        return 1.0, 0.0
    r = before.T @ after / len(before)
    chance = scipy.stats.chi2.sf(len(before) * np.sum(r**2), r.size)
    # White measurement noise of a variance -r of a step's adds twice as much to M.
    return float(chance), 2 * float(np.linalg.norm(r, 2)) * xi.shape[1] / 2


def _tails(xi: np.ndarray, expected: np.ndarray | None = None) -> tuple[float, float]:
    """Third and fourth moments, zero for normal numbers or as those of `expected`; their variance."""
    skew, kurtosis, of_skew, of_kurtosis = _moments(xi)
    if expected is not None:
        others = _moments(expected)
        skew, kurtosis = skew - others[0], kurtosis - others[1]
        of_skew, of_kurtosis = of_skew + others[2], of_kurtosis + others[3]
    t = np.concatenate([skew / np.sqrt(of_skew), kurtosis / np.sqrt(of_kurtosis)])
    chance = min(1.0, 2 * len(t) * scipy.stats.norm.sf(np.abs(t).max()))
    # A step's third and fourth cumulants enter the log-density divided by 3! and 4!.
    return float(chance), float(np.abs(skew).max() / 6 + np.abs(kurtosis).max() / 24) * xi.shape[1]


def _outliers(
    dynamics: ComponentDynamics, likelihood: AbstractGaussian, pairs: Transitions, xi: np.ndarray
) -> tuple[float, float]:
    """Chance of the largest step, and the root mean square over all pairs of steps that noise cannot make.

    A fit gives up pairs far below all others: they may be mistakes of a tracking program. But they may also
    be the few steps in which a path that was started far out falls back, and V is not known where they begin.
    An outlier counts if none of the steps that the model makes itself from the same state is as large.
    """
    r = np.sum(xi**2, axis=1)
    limit = scipy.stats.chi2.isf(LARGEST_CHANCE / len(r), xi.shape[1])
    far = np.flatnonzero(r > limit)
    if not len(far):
        return 1.0, 0.0
    worst = far[np.argsort(-r[far])][:MOST_OUTLIERS]
    again = np.resize(worst, FOLLOWED)
    made = _made_by(dynamics, Transitions(*(part[again] for part in pairs)))
    own = np.sum(residuals(Coefficients.of(dynamics), likelihood, made) ** 2, axis=1)
    largest = np.array([own[again == each].max() for each in worst])
    real = worst[r[worst] > largest]
    if not len(real):
        return 1.0, 0.0
    chance = min(1.0, len(r) * scipy.stats.chi2.sf(r[real].max(), xi.shape[1]))
    share = np.sum(r[real]) / np.sum(r[worst])
    return float(chance), float(np.sqrt(share * np.sum(r[far]) / len(r)))


def _moments(xi: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Skewness and excess kurtosis of every column, of variance 6 / n and 24 / n for normal numbers."""
    each = (xi - xi.mean(axis=0)) / xi.std(axis=0)
    return np.mean(each**3, axis=0), np.mean(each**4, axis=0) - 3, 6 / len(xi), 24 / len(xi)


def residuals(own: Coefficients, likelihood: AbstractGaussian, pairs: Transitions) -> np.ndarray:
    """White noise if the model is right, for pairs in unit-size coordinates."""
    return _bounded(_seen(own, likelihood, pairs))


def _seen(own: Coefficients, likelihood: AbstractGaussian, pairs: Transitions) -> Whitened:
    block = np.arange(len(pairs.dt)) * BLOCKS // len(pairs.dt)
    return whitened(own, own.vector, likelihood, Sample(pairs, block, BLOCKS))


def _bounded(seen: Whitened) -> np.ndarray:
    return np.clip(np.nan_to_num(seen.noise), -8, 8)


def _made_by(dynamics: AbstractDynamics, pairs: Transitions) -> Transitions:
    """Increments that the model makes itself, from recorded starts."""
    index = np.linspace(0, len(pairs.dt) - 1, FOLLOWED).astype(int)
    start, dt = (jnp.asarray(part[index], jnp.result_type(float)) for part in (pairs.start, pairs.dt))
    steps = np.asarray(_followed(dynamics, start, dt, jax.random.key(0)), np.float64)
    return Transitions(pairs.start[index], steps, pairs.dt[index])


def _course(xi: np.ndarray, place: np.ndarray) -> tuple[float, float]:
    """Means and squares of early and late residuals."""
    late = place > 0.5
    if min(late.sum(), (~late).sum()) < 100:
        return 1.0, 0.0
    both = np.concatenate([xi, (xi**2 - 1) / 2**0.5], axis=1)
    change = both[late].mean(axis=0) - both[~late].mean(axis=0)
    error = np.sqrt(both[late].var(axis=0) / late.sum() + both[~late].var(axis=0) / (~late).sum())
    t = np.abs(change / error)
    chance = min(1.0, 2 * len(t) * scipy.stats.norm.sf(t.max()))
    return float(chance), float(np.abs(change[xi.shape[1] :]).max() + np.abs(change[: xi.shape[1]]).max())


def _work(forces: np.ndarray, dt: np.ndarray, xi: np.ndarray, time: float) -> Check:
    """2 <w . sigma xi / sqrt(dt)>, w = M^-1 f_irr: what the rate would change by, to first order.

    With g = sigma^-1 f_irr, the forces, w . sigma xi is 2 g . xi.
    """
    share = 4 * np.sum(forces * xi, axis=1) / np.sqrt(dt) / time
    means = np.array([part.mean() for part in np.array_split(share, BLOCKS)])
    error = means.std(ddof=1) / BLOCKS**0.5
    if not error > 0:
        return Check("work", "ok", 1.0, 0.0, ADVICE["work"])
    chance = 2 * scipy.stats.t.sf(abs(means.mean()) / error, BLOCKS - 1)
    verdict = "work" if chance < LARGEST_CHANCE else "ok"
    return Check("work", verdict, float(chance), float(abs(means.mean())), ADVICE["work"])


def _consecutive(test: Trajectories, most: int):
    """Pairs in their order; where in its path each is; whether it follows the one before."""
    pairs = test.transitions()
    lengths = [len(s) - 1 for s in test.states]
    place = np.concatenate([(np.arange(n) + 0.5) / n for n in lengths])
    follows = np.concatenate([np.arange(n) > 0 for n in lengths])
    stop = min(len(place), most)
    return type(pairs)(*(part[:stop] for part in pairs)), place[:stop], follows[:stop]


@compiled
def _followed(dynamics: AbstractDynamics, start, dt, key):
    """Increments in many small steps of Heun's, whose drift is the mean of both ends."""

    def one(z, dt, key):
        h = dt / FINER

        def step(k, now):
            f, sigma = dynamics.drift_and_diffusion(now)
            noise = jnp.sqrt(h) * sigma @ jax.random.normal(jax.random.fold_in(key, k), z.shape, z.dtype)
            return now + h * (f + dynamics.drift(now + h * f + noise)) / 2 + noise

        return jax.lax.fori_loop(0, FINER, step, z) - z

    keys = jax.random.split(key, len(dt))
    return jax.lax.map(lambda each: one(*each), (start, dt, keys), batch_size=4096)


def _in_noise(dynamics: AbstractDynamics, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sigma^-1 f_irr and sigma^-1 f."""
    irreversible, whole = _drifts_in_noise(dynamics, jnp.asarray(states, jnp.result_type(float)))
    return np.asarray(irreversible, np.float64), np.asarray(whole, np.float64)


@compiled
def _drifts_in_noise(dynamics: AbstractDynamics, states):
    def one(z):
        sigma = dynamics.diffusion(z)
        return solve_lower(sigma, dynamics.irreversible_drift(z)), solve_lower(sigma, dynamics.drift(z))

    return jax.lax.map(one, states, batch_size=4096)


@compiled
def _typical_noise(dynamics: AbstractDynamics, states):
    return jax.vmap(dynamics.diffusion)(states)
