"""How much of a drift that a fit misses do its residuals show?

Random systems by seed: the nats that the model's drift is worse than the exact one, what `drift_misfit`
measures of them and what it says could be hidden, beside the rate and its z.

    python benchmarks/hidden_drift.py 1201 1210
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import uidd
from uidd.models import Coefficients
from uidd.systems.population import random_system
from uidd.training.checks.checks import residuals
from uidd.training.regression.misfit import drift_misfit


def exact_misfit(system, model, pairs) -> float:
    """Sum over pairs of |f - f_exact|^2 dt / 4 in the metric M^-1."""
    with jax.enable_x64(True):
        states = jnp.asarray(pairs.start)
        f, sigma = jax.lax.map(system.dynamics.drift_and_diffusion, states, batch_size=4096)
        f, sigma = np.asarray(f), np.asarray(sigma)
    unit = jnp.asarray(model.scaling.to_unit(pairs.start), jnp.result_type(float))
    learned = np.asarray(jax.lax.map(model.unit.drift, unit, batch_size=4096), np.float64)
    off = learned * np.asarray(model.scaling.scale) / model.scaling.time - f
    white = np.linalg.solve(sigma, off[:, :, None])[:, :, 0]
    return float(np.sum(white**2 * pairs.dt[:, None]) / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[1201, 1210])
    head = ("seed", "exact nats", "measured", "could be hidden", "rate", "truth", "z", "code")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for seed in parser.parse_args().seeds:
        system = random_system(seed)
        data = system.simulate()
        fit = uidd.fit(data, progress=False)
        rate, (truth, _) = uidd.entropy_production(fit), system.entropy_production_rate
        pairs = data.transitions()
        unit, own = fit.model.scaling.transitions_to_unit(pairs), Coefficients.of(fit.model.unit)
        found = drift_misfit(unit.start, residuals(own, fit.likelihood, unit))
        z = (rate.rate - truth) / rate.standard_error if rate.standard_error else 0.0
        exact = exact_misfit(system, fit.model, pairs)
        print(
            f"| {seed} | {exact:.0f} | {found.nats:.0f} | {found.hidden:.0f} "
            f"| {rate.rate:.3g} +- {rate.standard_error:.2g} | {truth:.3g} | {z:.2f} | {fit.result.code} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
