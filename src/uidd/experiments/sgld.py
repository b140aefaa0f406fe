"""Choosing a batch size by its entropy production: one batch size after the other, then all together."""

import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from .._checks import InputError
from .._files import write_atomically, write_json
from ..models import environment
from ..sampling import maximum_mean_discrepancy
from ..systems import SamplerEquation, small_step_limit, stationary_states
from ..systems.samplers.forces import is_least_squares
from ..thermodynamics import (
    CrossFitted,
    cross_fitted_entropy_production,
    cross_fitted_fisher_information,
    score_gap,
)
from ..training import fit_replicas, solve_for_potential
from .sgld_paths import followed_paths, settled
from .sgld_problems import BATCH_SIZES, Problem, Size

# Batch sizes whose paths are followed from the beginning.
FOLLOWED = (1, 64)


@dataclass(frozen=True)
class BatchStudy:
    """One batch size.

    Attributes:
        batch_size: None for all data.
        seed: Of the whole study.
        figures: Plain numbers: `rate`, the entropy production from products of independent models, with its
            error; `rate_plug_in`, from squares; `drift_rate`, with all of the drift that is not reversible in
            place of W's current, which the errors of V add to; `exact`, of the equation that the sampler
            stands for; `limit`, of its small-step limit where that is known in closed form; the same of the
            relative Fisher information (`fisher`, ...); features, gains, seconds.
        states: Stationary states.
        paths: Mean paths and losses, true and predicted, where they were followed.
    """

    batch_size: int | None
    seed: int
    figures: dict[str, Any]
    states: np.ndarray
    paths: dict[str, np.ndarray] = field(default_factory=dict)

    def write(self, path: Path, made_by: dict[str, Any]) -> None:
        """As a NumPy archive."""
        words = {
            "batch_size": self.batch_size,
            "seed": self.seed,
            "figures": self.figures,
            "made_by": made_by,
        }
        content = io.BytesIO()
        arrays = {"states": self.states.astype(np.float32), **{f"path {k}": v for k, v in self.paths.items()}}
        np.savez_compressed(content, words=json.dumps(words), **arrays)
        write_atomically(path, content.getvalue())

    @classmethod
    def read(cls, path: Path) -> tuple["BatchStudy", dict[str, Any]]:
        """What `write` wrote, and what it was made by."""
        with np.load(path) as archive:
            words = json.loads(str(archive["words"]))
            paths = {name[5:]: archive[name] for name in archive.files if name.startswith("path ")}
            study = cls(words["batch_size"], words["seed"], words["figures"], archive["states"], paths)
        return study, words["made_by"]


def study_batch(problem: Problem, size: Size, batch_size: int | None, seed: int) -> BatchStudy:
    """Record, learn, compare with the exact equation."""
    # Chains of all parts have seeds of their own: seeds of two batch sizes or roles never meet.
    first = 10_000 * seed + 1_000 * BATCH_SIZES.index(batch_size)
    begun = time.monotonic()
    parts = [problem.pairs(size, batch_size, first + 10 * k) for k in range(size.seeds)]
    states = problem.states(size, batch_size, first + 900)
    recorded = time.monotonic() - begun
    replicas = fit_replicas(
        parts, seed=first, architecture=size.architecture, plan=size.plan, settle=size.settle
    )
    sampler = problem.sampler.with_batch_size(batch_size)
    time_to_settle, step = size.follow * problem.relaxation, sampler.step / size.substeps
    own = problem.identified(settled(replicas.refined, states, time_to_settle, step, seed=first + 940))[0]
    rate = cross_fitted_entropy_production(replicas.refined, own)
    of_drift = cross_fitted_entropy_production(replicas.refined, own, currents=replicas.currents(own))
    fisher = cross_fitted_fisher_information(replicas.refined, own, sampler.noise)
    figures = {
        "pairs": len(parts[0].dt),
        **_numbers("rate", rate),
        **_numbers("drift_rate", of_drift),
        **_numbers("fisher", fisher),
        "features": [list(size) for size in replicas.features],
        "gains": list(replicas.gains),
        "kept": list(replicas.trained),
        "misfit": list(replicas.misfit),
        "result": replicas.result.code,
        "seconds_data": recorded,
        "seconds_training": replicas.seconds,
    }
    known = time.monotonic()
    figures |= _exact(problem, size, batch_size, states, first + 950)
    figures["seconds_exact"] = time.monotonic() - known
    paths = followed_paths(problem, size, batch_size, first + 970) if batch_size in FOLLOWED else {}
    figures["seconds"] = time.monotonic() - begun
    return BatchStudy(batch_size, seed, figures, states, paths)


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
    known = solve_for_potential(equation, own, widths=(size.width,), plan=size.exact, seed=seed)
    f = np.asarray(jax.lax.map(equation.drift, jnp.asarray(known.states), batch_size=4096), np.float64)
    gaps = np.sum(score_gap(known.states, f, known.potential_gradients, sampler.noise) ** 2, axis=1)
    found = {
        "exact": known.rate.rate,
        "exact_error": known.rate.standard_error,
        "fisher_exact": float(gaps.mean()),
        "fisher_exact_error": float(gaps.std() / len(gaps) ** 0.5),
    }
    if is_least_squares(sampler):
        limit = small_step_limit(sampler)
        found["limit"] = limit.entropy_production_rate
        found["fisher_limit"] = limit.relative_fisher_information
    return found


@dataclass(frozen=True)
class Comparison:
    """What the batch sizes show together.

    Attributes:
        to_full: Squared MMD of every batch size to the full batch: unbiased, its error, and biased.
        to_half: Between b and b / 2, from b = 2 on.
        rate_with_discrepancy: Rank correlation of entropy production and `to_full` over b.
        half_with_discrepancy: Of `to_half` and `to_full`.
        separation: Between b = 1 and b = 64, in standard errors of the entropy production.
    """

    to_full: dict[int, tuple[float, float, float]]
    to_half: dict[int, tuple[float, float, float]]
    rate_with_discrepancy: float
    half_with_discrepancy: float
    separation: float


def compare(studies: list[BatchStudy]) -> Comparison:
    """Discrepancies and rank correlations."""
    by_size = {study.batch_size: study for study in studies}
    sizes = [b for b in by_size if b is not None]

    def apart(a: int | None, b: int | None) -> tuple[float, float, float]:
        found = maximum_mean_discrepancy(by_size[a].states, by_size[b].states, gamma=1.0)
        return found.unbiased, found.standard_error, found.biased

    to_full = {b: apart(b, None) for b in sizes}
    to_half = {b: apart(b, b // 2) for b in sizes if b // 2 in by_size}
    rates = [by_size[b].figures["rate"] for b in sizes]
    one, last = by_size[sizes[0]].figures, by_size[sizes[-1]].figures
    return Comparison(
        to_full,
        to_half,
        _rank_correlation(rates, [to_full[b][0] for b in sizes]),
        _rank_correlation([to_half[b][0] for b in to_half], [to_full[b][0] for b in to_half]),
        (one["rate"] - last["rate"]) / float(np.hypot(one["rate_error"], last["rate_error"])),
    )


def _rank_correlation(x: list[float], y: list[float]) -> float:
    return float(np.asarray(spearmanr(x, y))[0])


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
    size, studies = problem.sizes[size_name], []
    made_by = {"size": size_name, "environment": environment(), **config}
    for batch_size in BATCH_SIZES:
        path = folder / "trials" / f"b{batch_size or '-full'}.npz"
        if path.exists():
            study, stored = BatchStudy.read(path)
            if (stored["size"], study.seed) != (size_name, seed):
                what = f"trials of size {stored['size']!r} from seed {study.seed}"
                raise InputError(f"'{folder}' holds {what}. Choose another --out, or --overwrite it.")
        else:
            study = study_batch(problem, size, batch_size, seed)
            study.write(path, made_by)
        studies.append(study)
        figures = study.figures
        report(
            f"b = {batch_size or 'all'}: EPR {figures['rate']:.4g} +- {figures['rate_error']:.2g}, exact "
            f"{figures['exact']:.4g}, plug-in {figures['rate_plug_in']:.4g} ({figures['seconds']:.0f} s)"
        )
    comparison = compare(studies)
    _write(problem, studies, comparison, folder, {**config, "size": size_name, "seed": seed})
    return table(problem, studies, comparison)


def table(problem: Problem, studies: list[BatchStudy], comparison: Comparison) -> str:
    """Three tables and what they say together, as Markdown."""
    rates = [
        ("b", "EPR", "exact", "small-step limit", "plug-in", "with all of the drift", "published, 4 seeds")
    ]
    fisher = [("b", "relative Fisher information", "exact", "small-step limit", "plug-in")]
    apart = [("b", "MMD^2 to full batch", "biased", "published", "MMD^2 to b/2", "biased")]
    for study in studies:
        b, f = study.batch_size, study.figures
        name = str(b or "all")
        theirs = problem.published_rates.get(b) if b else None
        rates.append(
            (
                name,
                f"{f['rate']:.4g} +- {f['rate_error']:.2g}",
                f"{f['exact']:.4g} +- {f['exact_error']:.1g}",
                f"{f['limit']:.4g}" if "limit" in f else "",
                f"{f['rate_plug_in']:.4g}",
                f"{f['drift_rate']:.4g} +- {f['drift_rate_error']:.2g}",
                f"{min(theirs):g} to {max(theirs):g}" if theirs else "",
            )
        )
        fisher.append(
            (
                name,
                f"{f['fisher']:.4g} +- {f['fisher_error']:.2g}",
                f"{f['fisher_exact']:.4g} +- {f['fisher_exact_error']:.1g}",
                f"{f['fisher_limit']:.4g}" if "fisher_limit" in f else "",
                f"{f['fisher_plug_in']:.4g}",
            )
        )
        if b:
            full, half = comparison.to_full[b], comparison.to_half.get(b)
            theirs = problem.published_discrepancies.get(b)
            apart.append(
                (
                    name,
                    f"{full[0]:.2e} +- {full[1]:.1e}",
                    f"{full[2]:.2e}",
                    f"{theirs:g}" if theirs else "",
                    f"{half[0]:.2e} +- {half[1]:.1e}" if half else "",
                    f"{half[2]:.2e}" if half else "",
                )
            )
    words = (
        f"EPR of b = 1 and of b = 64 are {comparison.separation:.1f} standard errors apart. Rank correlation "
        f"over b: of EPR with MMD^2 to full batch {comparison.rate_with_discrepancy:.2f}, of MMD^2(b, b/2) "
        f"with it {comparison.half_with_discrepancy:.2f}."
    )
    return "\n\n".join([*map(_markdown, (rates, fisher, apart)), words])


def _markdown(rows: list[tuple[str, ...]]) -> str:
    ruled = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def _write(
    problem: Problem, studies: list[BatchStudy], comparison: Comparison, folder: Path, config: dict[str, Any]
) -> None:
    from ..plotting.sgld import batch_size_figure, paths_figure
    from ..plotting.style import png

    write_json(folder / "config.json", config)
    write_json(folder / "environment.json", environment())
    write_atomically(folder / "table.md", (table(problem, studies, comparison) + "\n").encode())
    write_atomically(
        folder / "figure.png",
        png(batch_size_figure(problem.name, studies, comparison, problem.published_rates)),
    )
    write_atomically(folder / "paths.png", png(paths_figure(problem.name, studies)))
    results = [{"batch_size": study.batch_size, **study.figures} for study in studies]
    write_json(folder / "results.json", {"batches": results, "comparison": asdict(comparison)})
