"""Everything that a run reports of a model: one record, from which table, JSON and page are made."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..landscape import Landscape, StationaryPoint, survey
from ..models import Ensemble, Model
from ..sampling import Simulation, StationarySamples, sample_stationary, simulate
from ..thermodynamics import (
    CountedEntropyProduction,
    Estimate,
    compared,
    count_entropy_production,
    entropy_production,
    entropy_production_rate,
    in_stretches,
    irreducible_spread,
    local_entropy_production,
    system_entropy_production,
)
from ..training import Checks

DRAWS = 100_000


@dataclass(frozen=True)
class Analysis:
    """What the model says, and how far to trust it.

    Attributes:
        entropy_production: The headline: corrected for noise in the fit, its error from the ensemble. A mean
            over recorded states if the recording is stationary; otherwise the model's own stationary rate,
            over draws from e^-V as far as the recorded states reach.
        over_model: The same as a mean over draws from e^-V, which reach places where no data were.
        stationary: Whether the headline is a mean over recorded states.
        checks: What transitions that took no part say of the model.
        plug_in: The rate of the model itself, uncorrected, over the states of the headline; its error is
            that of these states.
        irreducible_spread: What a path of the observed length leaves open in any case, sqrt(2 S T) / T for a
            rate S seen over a time T; for comparison with the error of the headline.
        noise_floor: What a fit to equilibrium data of this length may give, 20 / T: a rate is a square,
            so noise in the fitted current adds to it, about 2 / T for every degree of freedom.
        system_entropy: The stationary mean of s_sys, zero up to its error: a check of the sampling.
        counted: The counting estimate from the data alone; None above three dimensions.
        landscape: Minima of the potential, and the barriers between them.
        local: Local entropy production at some draws.
        samples: Draws from e^-V; of a recording that is not stationary as far as it reaches.
        simulation: Paths of the model from the starts of recorded ones, at their times.
        recorded: Those recorded paths.
    """

    entropy_production: Estimate
    over_model: Estimate
    stationary: bool
    checks: Checks
    plug_in: Estimate
    irreducible_spread: float
    noise_floor: float
    system_entropy: Estimate
    counted: CountedEntropyProduction | None
    landscape: Landscape
    local: np.ndarray
    samples: StationarySamples
    simulation: Simulation
    recorded: Trajectories

    @property
    def minima(self) -> tuple[StationaryPoint, ...]:
        """Of the potential, lowest first."""
        return self.landscape.minima

    def to_dict(self) -> dict[str, Any]:
        """As in `metrics.json`."""
        quantiles = np.quantile(self.local, [0.05, 0.25, 0.5, 0.75, 0.95])
        return {
            "entropy_production": {
                **self.entropy_production.to_dict(),
                "over": "recorded states" if self.stationary else "e^-V",
                "over_model": self.over_model.to_dict(),
                "plug_in": self.plug_in.rate,
                "monte_carlo_error": self.plug_in.standard_error,
                "irreducible_spread": self.irreducible_spread,
                "noise_floor": self.noise_floor,
            },
            "checks": self.checks.to_dict(),
            "local_entropy_production": {
                "mean": float(self.local.mean()),
                "quantiles": dict(
                    zip(("5%", "25%", "50%", "75%", "95%"), map(float, quantiles), strict=True)
                ),
            },
            "system_entropy_production": self.system_entropy.to_dict(),
            "counting": None if self.counted is None else self.counted.to_dict(),
            **self.landscape.to_dict(),
            "sampling": {
                "draws": len(self.samples),
                "r_hat": self.samples.r_hat,
                "effective_sample_size": self.samples.effective_sample_size,
                "acceptance": self.samples.acceptance,
                "result": self.samples.result.code,
                "message": self.samples.result.message,
            },
            "simulation": {"step": self.simulation.step, "result": self.simulation.result.code},
        }


def analyze(
    ensemble: Ensemble,
    data: Trajectories,
    total_time: float,
    *,
    checks: Checks | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Analysis:
    """Sample, integrate, count, descend and simulate.

    Args:
        ensemble: The learned model and its members.
        data: Recorded trajectories to compare with, best those held out.
        total_time: The observed time of the training data, for the irreducible spread.
        checks: Of the fit.
        seed: Of sampling and simulation.
        draws: From the stationary density.
    """
    model = ensemble.center
    near = None if ensemble.stationary or not len(ensemble.recorded) else ensemble.recorded
    samples = sample_stationary(model, draws, seed=seed, within=near)
    over_model = headline = entropy_production(ensemble, samples=samples)
    states, stationary = samples, ensemble.stationary
    if stationary:
        headline = compared(entropy_production(ensemble), over_model)
        states = in_stretches(ensemble.recorded)
    # In unit-size coordinates no digit is lost to offsets.
    unit, time = model.unit, model.scaling.time
    some = jnp.asarray(model.scaling.to_unit(samples.states[:: max(1, len(samples) // 20_000)]))
    local = np.asarray(jax.vmap(lambda x: local_entropy_production(unit, x))(some), np.float64) / time
    system = np.asarray(jax.vmap(lambda x: system_entropy_production(unit, x))(some), np.float64) / time
    system_error = float(system.std(ddof=1) / len(system) ** 0.5)
    recorded = _like_sized(data)
    return Analysis(
        entropy_production=headline,
        over_model=over_model,
        stationary=stationary,
        checks=checks or Checks(),
        plug_in=entropy_production_rate(model, states),
        irreducible_spread=irreducible_spread(headline.rate, total_time),
        noise_floor=20 / total_time,
        system_entropy=Estimate(float(system.mean()), system_error, samples.result),
        counted=counted(data),
        landscape=survey(ensemble),
        local=local,
        samples=samples,
        simulation=_simulated(model, recorded, seed),
        recorded=recorded,
    )


def counted(data: Trajectories) -> CountedEntropyProduction | None:
    """By counting, up to three dimensions: above, every cell is visited once."""
    return count_entropy_production(data) if data.dimension <= 3 else None


def _like_sized(data: Trajectories, most_paths: int = 200, most_frames: int = 400) -> Trajectories:
    """Some recorded paths of one length, the longest that most of them reach."""
    lengths = np.array([len(s) for s in data.states])
    length = int(min(np.quantile(lengths, 0.25), most_frames))
    chosen = [i for i in range(len(data)) if lengths[i] >= max(length, 2)][:most_paths]
    picked = data.select(chosen)
    return Trajectories(
        states=tuple(s[: max(length, 2)] for s in picked.states),
        times=tuple(t[: max(length, 2)] - t[0] for t in picked.times),
        origins=picked.origins,
        coordinates=data.coordinates,
        units=data.units,
        time_unit=data.time_unit,
    )


def _simulated(model: Model, recorded: Trajectories, seed: int) -> Simulation:
    """The model's own paths from the recorded starts. Their common times are those of the first path."""
    starts = np.stack([s[0] for s in recorded.states])
    return simulate(model, starts, recorded.times[0], seed=seed)
