"""The paper's linear case: entropy production against lambda, estimated in four ways."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._files import write_atomically, write_json
from ..dynamics import AbstractDynamics
from ..likelihood import EulerMaruyama
from ..models import Model, environment
from ..sampling import sample_stationary
from ..systems import Linear
from ..systems.linear import STIFFNESS
from ..thermodynamics import (
    Estimate,
    count_entropy_production,
    entropy_production,
    entropy_production_rate,
    irreducible_spread,
)
from ..training import Plan, fit
from .markdown import markdown_table

STRENGTHS = (1.0, 0.5, 0.25, 0.125, 0.0)
# From the authors' own result files: learned, counting, Monte Carlo with the exact equations.
PUBLISHED = {
    1.0: (48.8827, 33.96, 49.80),
    0.5: (11.9134, 8.51, 12.86),
    0.25: (3.02704, 2.148, 3.163),
    0.125: (0.745721, 0.525, 0.907),
    0.0: (0.0086, 0.205, 0.0),
}


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    paths: int
    steps: int
    counting_paths: int
    bins: int
    draws: int


SIZES = {
    "quick": Size(paths=5_000, steps=300, counting_paths=4_000, bins=20, draws=200_000),
    "paper": Size(paths=10_000, steps=3_000, counting_paths=50_000, bins=60, draws=1_000_000),
}


@dataclass(frozen=True)
class LinearCase:
    """One lambda: the exact rate and its estimates, and how far fields are off.

    `learned` is the model that `fit` keeps; `networks` the trained networks, whether or not they were
    kept over the linear start. `potential_error` and `irreversible_error` are relative L2 errors of the
    model over exact stationary draws (of V up to a constant; of f_irr relative to the drift where the
    exact f_irr vanishes).
    """

    strength: float
    exact: float
    learned: Estimate
    networks: Estimate
    counted: Estimate
    monte_carlo: Estimate
    potential_error: float
    irreversible_error: float
    training: str
    profile: dict[str, list[float]]

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        estimates = {
            name: getattr(self, name).to_dict() for name in ("learned", "networks", "counted", "monte_carlo")
        }
        theirs = dict(zip(("learned", "counted", "monte_carlo"), PUBLISHED[self.strength], strict=True))
        plain = {k: v for k, v in asdict(self).items() if k not in estimates}
        return {**plain, **estimates, "published": theirs}


def reproduce(
    size_name: str, folder: Path, *, seed: int, report: Callable[[str], None], config: dict[str, Any]
) -> str:
    """Run, write, and return the table."""
    cases = run(SIZES[size_name], seed=seed, report=report)
    write(cases, folder, {**config, "size": size_name, "seed": seed})
    return table(cases)


def run(size: Size, *, seed: int = 0, report: Callable[[str], None] = lambda _: None) -> list[LinearCase]:
    """All lambdas."""
    cases = []
    for strength in STRENGTHS:
        case = _one(Linear(strength), size, seed)
        report(f"lambda = {strength}: learned {case.learned}, exact {case.exact:.6g}")
        cases.append(case)
    return cases


def _one(system: Linear, size: Size, seed: int) -> LinearCase:
    trained = fit(
        system.simulate(size.paths, seed=seed),
        seed=seed,
        architecture="linear",
        likelihood=EulerMaruyama(),  # the paper's data are an Euler scheme's
        plan=Plan(steps=size.steps),
    )
    draws = np.random.default_rng(seed).multivariate_normal(np.zeros(2), np.linalg.inv(STIFFNESS), size.draws)
    stationary = system.simulate(size.counting_paths, stationary=True, scheme="exact", seed=seed + 1)
    potential_error, irreversible_error = field_errors(trained.model, system, draws[:4000])
    return LinearCase(
        strength=system.strength,
        exact=system.entropy_production_rate,
        learned=entropy_production(trained, draws=size.draws, seed=seed),
        networks=_integrated(trained.refined, trained.total_time, size.draws, seed),
        counted=count_entropy_production(stationary, size.bins),
        monte_carlo=entropy_production_rate(system.dynamics, draws),
        potential_error=potential_error,
        irreversible_error=irreversible_error,
        training=trained.result.code,
        profile=_profile(trained.model, system),
    )


def _integrated(model: Model, total_time: float, draws: int, seed: int) -> Estimate:
    """The rate over draws from e^-V; its error joins Monte Carlo and the irreducible spread."""
    integrated = entropy_production_rate(model, sample_stationary(model, draws, seed=seed))
    return integrated.widened(irreducible_spread(integrated.rate, total_time))


def field_errors(model: AbstractDynamics, system: Linear, states: np.ndarray) -> tuple[float, float]:
    """Relative L2 errors of V (up to a constant) and of f_irr over the given states."""
    exact, z = system.dynamics, jnp.asarray(states)
    V, V_exact = (np.asarray(jax.vmap(d.potential)(z)) for d in (model, exact))
    V, V_exact = V - V.mean(), V_exact - V_exact.mean()
    f, f_exact = (np.asarray(jax.vmap(d.irreversible_drift)(z)) for d in (model, exact))
    reference = f_exact if system.strength else np.asarray(jax.vmap(exact.drift)(z))
    return (
        float(np.linalg.norm(V - V_exact) / np.linalg.norm(V_exact)),
        float(np.linalg.norm(f - f_exact) / np.linalg.norm(reference)),
    )


def _profile(model: AbstractDynamics, system: Linear) -> dict[str, list[float]]:
    """V and the first component of f_irr along both axes through the origin, learned and exact."""
    line = np.linspace(-1.0, 1.0, 81)
    profile: dict[str, list[float]] = {"s": line.tolist()}
    for axis in (0, 1):
        states = np.zeros((len(line), 2))
        states[:, axis] = line
        for name, dynamics in (("learned", model), ("exact", system.dynamics)):
            V = np.asarray(jax.vmap(dynamics.potential)(jnp.asarray(states)))
            f = np.asarray(jax.vmap(dynamics.irreversible_drift)(jnp.asarray(states)))[:, 0]
            profile[f"V{axis + 1}_{name}"] = (V - V[len(line) // 2]).tolist()
            profile[f"f{axis + 1}_{name}"] = f.tolist()
    return profile


def table(cases: list[LinearCase]) -> str:
    """Ours beside theirs, as Markdown."""
    head = (
        "lambda",
        "exact",
        "learned",
        "error",
        "theirs",
        "networks alone",
        "counting",
        "theirs",
        "Monte Carlo",
        "theirs",
        "V, rel. L2",
        "f_irr, rel. L2",
    )
    rows = []
    for case in cases:
        theirs, ours = PUBLISHED[case.strength], case.learned.rate
        error = f"{100 * (ours / case.exact - 1):+.2f} %" if case.exact else f"{ours:+.1e}"
        rows.append(
            (
                f"{case.strength:g}",
                f"{abs(case.exact):.6g}",
                str(case.learned),
                error,
                f"{theirs[0]:.5g}",
                str(case.networks),
                str(case.counted),
                f"{theirs[1]:.4g}",
                str(case.monte_carlo),
                f"{theirs[2]:.4g}",
                f"{case.potential_error:.1e}",
                f"{case.irreversible_error:.1e}",
            )
        )
    return markdown_table(head, rows)


def write(cases: list[LinearCase], folder: Path, config: dict[str, Any]) -> None:
    """Numbers, table and picture with what they were made by, each written atomically."""
    from ..plotting.linear_case import linear_figure
    from ..plotting.style import png

    write_json(folder / "config.json", config)
    write_json(folder / "environment.json", environment())
    write_atomically(folder / "table.md", (table(cases) + "\n").encode())
    write_atomically(folder / "figure.png", png(linear_figure([case.to_dict() for case in cases])))
    write_json(folder / "results.json", [case.to_dict() for case in cases])
