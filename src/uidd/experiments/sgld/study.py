"""Choosing a batch size by its entropy production: one batch size after the other, then all together."""

import functools
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._checks import InputError
from ..._files import write_atomically, write_json
from ...models import environment
from ...sampling import maximum_mean_discrepancy
from ...systems import SamplerEquation, small_step_limit, stationary_states
from ...thermodynamics import (
    CrossFitted,
    cross_fitted_entropy_production,
    cross_fitted_fisher_information,
    score_gap,
)
from ...training import fit_replicas, solve_for_potential
from .paths import are_outside_support, followed_paths, settled
from .problems import BATCH_SIZES, Problem, Size
from .records import BatchStudy, Comparison, compare
from .table import table

# Batch sizes whose paths are followed from the beginning.
FOLLOWED = (1, 64)
# Share of the states outside the support above which means over the others are not to be trusted.
MOST_OUTSIDE = 0.01
# Stationary states that are stored.
STORED = 2_000

# From a batch size to stationary states of its chains.
Draws = Callable[[int | None], np.ndarray]


def study_batch(
    problem: Problem, size: Size, batch_size: int | None, seed: int, draws: Draws | None = None
) -> BatchStudy:
    """Record, learn, compare with the exact equation and with the chains of the other batch sizes.

    Args:
        problem: The sampler.
        size: How much of everything.
        batch_size: None for all data.
        seed: Of everything.
        draws: Where stationary states come from, so that a study of many batch sizes makes them once.
    """
    draws = draws or functools.partial(_draws, problem, size, seed)
    first, begun = _first(batch_size, seed), time.monotonic()
    parts = [problem.pairs(size, batch_size, first + 10 * k) for k in range(size.seeds)]
    states = draws(batch_size)
    recorded = time.monotonic() - begun
    replicas = fit_replicas(
        parts,
        seed=first,
        architecture=size.architecture,
        plan=size.plan,
        settle=size.settle,
        substeps=size.substeps,
    )
    sampler = problem.sampler.with_batch_size(batch_size)
    time_to_settle, step = size.follow * problem.relaxation, sampler.step / size.substeps
    own = settled(replicas.refined, states[: size.compared], time_to_settle, step, seed=first + 940)
    own = problem.identified(own)[0]
    outside = are_outside_support(own, states)
    # As many as there were, some of them twice: the same programs serve all batch sizes.
    own = np.resize(states if outside.all() else own[~outside], own.shape)
    rate = cross_fitted_entropy_production(replicas.refined, own, currents=replicas.currents(own))
    of_circulation = cross_fitted_entropy_production(replicas.refined, own)
    fisher = cross_fitted_fisher_information(replicas.refined, own, sampler.noise)
    figures = {
        "pairs": len(parts[0].dt),
        **_numbers("rate", rate),
        **_numbers("circulation_rate", of_circulation),
        **_numbers("fisher", fisher),
        "outside_support": float(outside.mean()),
        "features": [list(size) for size in replicas.features],
        "gains": list(replicas.gains),
        "kept": list(replicas.trained),
        "misfit": list(replicas.misfit),
        "result": "outside_support" if outside.mean() > MOST_OUTSIDE else replicas.result.code,
        "seconds_data": recorded,
        "seconds_training": replicas.seconds,
    }
    known = time.monotonic()
    figures |= _exact(problem, size, batch_size, states, first + 950)
    figures["seconds_exact"] = time.monotonic() - known
    figures |= _discrepancies(draws, batch_size, size.compared)
    paths = followed_paths(problem, size, batch_size, first + 970) if batch_size in FOLLOWED else {}
    figures["seconds"] = time.monotonic() - begun
    return BatchStudy(batch_size, seed, figures, states[:STORED], paths)


def _first(batch_size: int | None, seed: int) -> int:
    """Of the seeds of a batch size: those of two batch sizes, or of two roles, never meet."""
    return 10_000 * seed + 1_000 * BATCH_SIZES.index(batch_size)


def _draws(problem: Problem, size: Size, seed: int, batch_size: int | None) -> np.ndarray:
    return problem.states(size, batch_size, _first(batch_size, seed) + 900)


def _numbers(name: str, found: CrossFitted) -> dict[str, Any]:
    return {
        name: found.corrected.rate,
        f"{name}_error": found.corrected.standard_error,
        f"{name}_plug_in": found.plug_in,
        f"{name}_products": found.products.tolist(),
    }


def _exact(
    problem: Problem, size: Size, batch_size: int | None, states: np.ndarray, seed: int
) -> dict[str, Any]:
    """Of the equation that the sampler stands for: V from its exact f and M, at states of its own."""
    sampler = problem.sampler.with_batch_size(batch_size)
    equation = SamplerEquation(sampler)
    own = stationary_states(
        equation, states, size.follow * problem.relaxation, substeps=size.substeps, seed=seed
    )
    own = problem.identified(own)[0]
    f = np.asarray(jax.lax.map(equation.drift, jnp.asarray(own), batch_size=4096), np.float64)
    full_batch = score_gap(own, f, np.zeros_like(own), sampler.noise)
    known = solve_for_potential(
        equation, own, known=full_batch, widths=(4 * size.width,), plan=size.exact, seed=seed
    )
    gaps = np.sum((full_batch[: len(known.states)] - known.potential_gradients) ** 2, axis=1)
    found = {
        "exact": known.rate.rate,
        "exact_error": known.rate.standard_error,
        "fisher_exact": float(gaps.mean()),
        "fisher_exact_error": float(gaps.std() / len(gaps) ** 0.5),
    }
    if sampler.least_squares is not None:
        limit = small_step_limit(sampler)
        found["limit"] = limit.entropy_production_rate
        found["fisher_limit"] = limit.relative_fisher_information
    return found


def _discrepancies(draws: Draws, batch_size: int | None, most: int) -> dict[str, list[float]]:
    """Squared MMD to the full batch, and to half the batch size: unbiased, its error, and biased."""
    others: dict[str, int | None] = {} if batch_size is None else {"to_full": None}
    if batch_size is not None and batch_size > 1:
        others["to_half"] = batch_size // 2
    found = {
        name: maximum_mean_discrepancy(draws(batch_size)[:most], draws(other)[:most], gamma=1.0)
        for name, other in others.items()
    }
    return {name: [each.unbiased, each.standard_error, each.biased] for name, each in found.items()}


def reproduce(
    problem: Problem,
    size_name: str,
    folder: Path,
    *,
    seed: int,
    report: Callable[[str], None],
    config: dict[str, Any],
) -> str:
    """Study what is not yet stored, compare, write; returns the table.

    Every batch size is stored when it is done, so a run that was stopped goes on where it was.
    """
    size, studies, begun = problem.sizes[size_name], [], time.monotonic()
    environments = []
    made_by = {"size": size_name, "environment": environment(), **config}
    draws = functools.cache(functools.partial(_draws, problem, size, seed))
    for batch_size in BATCH_SIZES:
        path = folder / "trials" / f"b{batch_size or '-full'}.npz"
        if path.exists():
            study, stored = BatchStudy.read(path)
            if (stored["size"], study.seed) != (size_name, seed):
                what = f"trials of size {stored['size']!r} from seed {study.seed}"
                raise InputError(f"'{folder}' holds {what}. Choose another --out, or --overwrite it.")
        else:
            study, stored = study_batch(problem, size, batch_size, seed, draws), made_by
            study.write(path, made_by)
        studies.append(study)
        environments.append(stored["environment"])
        figures = study.figures
        report(
            f"b = {batch_size or 'all'}: EPR {figures['rate']:.4g} +- {figures['rate_error']:.2g}, exact "
            f"{figures['exact']:.4g}, plug-in {figures['circulation_rate_plug_in']:.4g} "
            f"({figures['seconds']:.0f} s, {time.monotonic() - begun:.0f} s in all)"
        )
    comparison = compare(studies)
    write_json(folder / "config.json", {**config, "size": size_name, "seed": seed})
    write_json(folder / "environment.json", environments[0])
    _write(problem, studies, comparison, folder)
    return table(problem, studies, comparison)


def _write(problem: Problem, studies: list[BatchStudy], comparison: Comparison, folder: Path) -> None:
    from ...plotting.sgld import batch_size_figure, paths_figure
    from ...plotting.style import png

    write_atomically(folder / "table.md", (table(problem, studies, comparison) + "\n").encode())
    write_atomically(
        folder / "figure.png",
        png(batch_size_figure(problem.name, studies, comparison, problem.published_rates)),
    )
    write_atomically(folder / "paths.png", png(paths_figure(problem.name, studies)))
    results = [{"batch_size": study.batch_size, **study.figures} for study in studies]
    write_json(folder / "results.json", {"batches": results, "comparison": asdict(comparison)})
