"""The headline: the entropy production rate of an ensemble, corrected for noise, with its interval."""

from dataclasses import replace
from math import hypot
from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._programs import compiled
from .._types import Result
from ..models import Coefficients, Ensemble
from ..models.ensemble import FEWEST_RECORDED
from ..sampling import Reach, StationarySamples, sample_stationary
from .entropy_production import local_entropy_production
from .records import Estimate

DRAWS = 100_000
# Members are compared on so many of the states; the noise of the states is common to all and drops out.
COMPARED = 4096
# Members are followed this part of the way, and their first and second differences extrapolated: far out in
# the tails a whole deviation may turn a noise or a current into something that no data support. V and W
# enter as a product, whose fourth powers are left as a share squared of what they are at the whole length.
SHARE = 1 / 16
# Stretches of a recording whose means are compared for the error of a mean over recorded states.
STRETCHES = 32
# In kT: how much of e^-V, as -log(1 - share), may lie where next to no data were. The heights of V over
# recorded states are off by as much.
BEYOND = 0.15
# Standard errors by which two means of one fit may differ.
APART = 3.0


class HasEnsemble(Protocol):
    """What `uidd.fit` returns, or a run read from disk."""

    @property
    def ensemble(self) -> Ensemble:
        """A model and its members."""
        ...


def entropy_production(
    fit: HasEnsemble | Ensemble,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    samples: StationarySamples | None = None,
) -> Estimate:
    """The rate of a fit, in k_B per unit time, with everything that is known to be uncertain in its error.

    Where the recording is stationary it is a mean over recorded states: draws from e^-V reach places where
    no data were, and a current that is extrapolated there may be anything. Where it is not, the rate is the
    model's own stationary one, a mean over draws from e^-V as far as the recorded states reach, and what
    residuals say that it misses, since the recording weighed places otherwise (`Ensemble.correction`).

    A rate is a square of the current, so noise in the fitted current adds to it: equilibrium data
    would give a positive number. The curvature of the rate over the ensemble measures that. With
    S(theta) the rate and <.> the mean over pairs of opposite deviations, of all coefficients or of the
    constants alone (those without a prior, as far as they are not known through the networks beside them),

        rate = S + (<S>_all - S) - 2 (<S>_constants - S).

    Coefficients under a prior are pulled towards zero, which takes out twice their noise: their variance
    is put back, which gives the mean of S over what the data allow. The noise of the constants is in S,
    and in that mean once more; it is taken out, which is what the product of two independent fits does. The
    standard error joins the spread over the ensemble, the whole of what was put back, the error of the
    states, what a current could dissipate that the residuals hide, and what one could that was undetected:
    by so much the rate may be larger, but not smaller. Where the noise of the model is not that of the data
    by more than chance, the rate is as uncertain as that, relatively. Over draws from e^-V the spread holds
    what V could be that the data do not exclude, too.

    A member has its own stationary density: draws from the model's are weighted by e^-(V' - V). Draws
    where the two differ by more than 2 lie where nobody has been; there the model's own value counts.
    Recorded states are what they are, and have no weights.

    Args:
        fit: From `uidd.fit`, or its ensemble.
        draws: From the stationary density, where they are needed.
        seed: Of the draws.
        samples: Draws from `fit.model`; the mean is then over these in any case.
    """
    ensemble = fit if isinstance(fit, Ensemble) else fit.ensemble
    over_recorded = samples is None and ensemble.stationary
    if over_recorded:
        chains, reached = in_stretches(ensemble.recorded), Result()
    else:
        if samples is None:
            near = ensemble.recorded if len(ensemble.recorded) else None
            samples = sample_stationary(ensemble.center, draws, seed=seed, within=near)
        chains, reached = samples.chains, samples.result
        if reached.successful:
            reached = judged(ensemble, chains)
    center, time = ensemble.center, ensemble.center.scaling.time
    own = Coefficients.of(center.unit)

    def rates(states, deviations, own=own) -> tuple[np.ndarray, np.ndarray]:
        """Energies and local rates, a row a member."""
        members = [own.unravelled(own.vector + row) for row in deviations]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *members)  # jnp would compile a program
        energies, values = _evaluated(stacked, own.frozen, jnp.asarray(states, jnp.result_type(float)))
        return np.asarray(energies, np.float64), np.asarray(values, np.float64) / time

    unit = np.asarray(center.scaling.to_unit(chains.reshape(-1, chains.shape[-1])))
    here = np.zeros((1, len(own.vector)))
    energies, local = (part[0] for part in rates(unit, here))
    plug_in = local.reshape(chains.shape[:2]).mean(axis=1)
    monte_carlo = float(plug_in.std(ddof=1) / len(plug_in) ** 0.5) if len(plug_in) > 1 else float("nan")
    rate = float(plug_in.mean())
    if over_recorded:
        some = jnp.asarray(unit[:: max(1, len(unit) // COMPARED)], jnp.result_type(float))
        s, changes = np.asarray(_forgetting(own.unravelled(own.vector), own.frozen, some), np.float64)
        monte_carlo = max(monte_carlo, error_of_mean(s, changes, ensemble.observed / time) / time)
    if not len(ensemble):
        return Estimate(rate, monte_carlo, Result("no_ensemble", "The error holds only that of the draws."))

    stride = max(1, len(unit) // COMPARED)
    some, V, s = unit[::stride], energies[::stride], local[::stride]

    def mean_rates(deviations, own=own) -> tuple[np.ndarray, np.ndarray]:
        """Odd and even part of the change along every deviation, at its whole length."""
        energies, values = rates(some, SHARE * np.concatenate([deviations, -deviations]), own)
        if over_recorded:
            there, back = np.split(values.mean(axis=1), 2)
            return (there - back) / (2 * SHARE), ((there + back) / 2 - s.mean()) / SHARE**2
        gain = V - energies
        gain = gain - np.median(gain, axis=1, keepdims=True)
        known = np.abs(gain) < 2.0
        weight = np.exp(np.where(known, gain, 0.0))
        means = np.sum(weight * np.where(known, values, s), axis=1) / weight.sum(axis=1)
        there, back = np.split(means, 2)
        return (there - back) / (2 * SHARE), ((there + back) / 2 - s.mean()) / SHARE**2

    odd, even = mean_rates(ensemble.deviations)
    noise = mean_rates(ensemble.constants)[1]
    rate += even.mean() - 2 * noise.mean()
    # The odd part is the spread of the rate; where that vanishes, as in equilibrium, the even part is left.
    spread = np.mean(odd**2)
    if not over_recorded:
        # V says where the system would be: what the data do not call for in it they need not exclude.
        base = own if ensemble.full is None else Coefficients.of(ensemble.full.unit)
        spread = max(spread, np.mean(mean_rates(ensemble.wide, base)[0] ** 2))
    # What is put back for the priors is what they say of currents that the data do not show: as uncertain
    # as it is large.
    put_back = even.mean() - noise.mean()
    parts = [np.sqrt(spread), np.std(even), put_back, monte_carlo, ensemble.hidden, ensemble.undetected]
    if not over_recorded:
        rate += ensemble.correction[0]
        parts.append(ensemble.correction[1])
    # s = f . M^-1 f: where M is off by a part of itself, so is the rate.
    parts.append(ensemble.noise_error * rate)
    result = reached if ensemble.result.successful else ensemble.result
    return Estimate(float(rate), hypot(*map(float, parts)), result, upward=ensemble.undetected)


def error_of_mean(values: np.ndarray, changes: np.ndarray, total_time: float) -> float:
    """Of a mean of s over a time T in which paths may not have forgotten where they began.

    The system forgets s within tau = Var s / <grad s . M grad s>, or later (a Rayleigh quotient), and a mean
    over T has the variance Var s 2 tau / T. Many short paths look like as many independent states; but where
    they begin is the experimenter's choice, and what the dynamics says of its stationary state is no more
    than this.

    Args:
        values: s of some states.
        changes: grad s . M grad s there.
        total_time: T.
    """
    variance, rate = float(np.var(values)), float(np.mean(changes))
    return variance * float(np.sqrt(2 / (rate * total_time))) if rate > 0 else 0.0


def judged(ensemble: Ensemble, chains: np.ndarray) -> Result:
    """`extrapolated` where draws from e^-V lie where next to no recorded states do."""
    if len(ensemble.recorded) < FEWEST_RECORDED:
        return Result()
    to_unit = ensemble.center.scaling.to_unit
    some = chains.reshape(-1, chains.shape[-1])[:: max(1, chains[..., 0].size // COMPARED)]
    share = Reach.of(to_unit(ensemble.recorded)).beyond(to_unit(some))
    if share <= 1 - np.exp(-BEYOND):
        return Result()
    words = (
        f"{share:.0%} of the learned e^-V lies where next to no data were: V is a guess there. "
        "Give paths that stay longer, or start where the system rests."
    )
    return Result("extrapolated", words)


def in_stretches(states: np.ndarray) -> np.ndarray:
    """Recorded states as `(stretches, states, D)`: the spread of their means is the error of the mean."""
    return states[: len(states) // STRETCHES * STRETCHES].reshape(STRETCHES, -1, states.shape[1])


def compared(over_recorded: Estimate, over_model: Estimate) -> Estimate:
    """The first, with the code `extrapolated` where the mean over e^-V differs beyond the errors of both.

    Then V reaches places where no data were, or weighs those where they were otherwise than the recording.
    """
    if over_recorded.result.successful and over_model.result == "extrapolated":
        words = f"{over_model.result.message} The rate is a mean over recorded states, and holds."
        return replace(over_recorded, result=Result("extrapolated", words))
    if not (over_recorded.result.successful and over_model.result.successful):
        return over_recorded
    error = float(np.hypot(over_recorded.standard_error, over_model.standard_error))
    if abs(over_recorded.rate - over_model.rate) <= APART * error:
        return over_recorded
    words = (
        f"Over the recorded states the rate is {over_recorded}, over the learned e^-V it is {over_model}: "
        "V is not what the recording shows. Give more or longer paths; until then believe the first."
    )
    return replace(over_recorded, result=Result("extrapolated", words))


@compiled
def _evaluated(stacked, frozen, states):
    def one(member):
        dynamics = eqx.combine(member, frozen)
        return jax.lax.map(
            lambda z: (dynamics.potential(z), local_entropy_production(dynamics, z)), states, batch_size=4096
        )

    return jax.lax.map(one, stacked)


@compiled
def _forgetting(chosen, frozen, states):
    """s, and grad s . M grad s."""
    dynamics = eqx.combine(chosen, frozen)

    def one(z):
        s, slope = jax.value_and_grad(lambda z: local_entropy_production(dynamics, z))(z)
        return s, slope @ dynamics.dissipation(z) @ slope

    return jax.lax.map(one, states, batch_size=4096)
