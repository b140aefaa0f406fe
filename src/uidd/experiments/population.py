"""The defaults on systems that nobody chose: one JSON row a seed, resumable, side by side on all cores."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._files import read_json, write_atomically, write_json
from .._programs import compiled
from ..models import environment
from ..systems.population import RandomSystem, random_system
from ..thermodynamics import in_stretches
from . import population_peers
from .population_peers import compared

LOOKED_AT = 2000
# In nats: a cubic drift that gains more must not be called linear.
BENT = 20.0
# In kT: what V may be off in any case, and how many of its own errors.
V_LIMIT, V_ERRORS = 0.15, 3.0


def row_file(folder: Path, seed: int) -> Path:
    """Where the row of a seed is stored."""
    return folder / "rows" / f"seed{seed}.json"


def run(seeds: Sequence[int], folder: Path, *, workers: int, command: str = "") -> Iterator[dict[str, Any]]:
    """Rows as they come; those that are stored are not measured again."""
    left = [seed for seed in seeds if not row_file(folder, seed).exists()]
    if workers == 1:
        for seed in left:
            yield _stored(seed, folder, command)
        return
    with side_by_side(workers) as pool:
        jobs = [pool.submit(_stored, seed, folder, command) for seed in left]
        for job in as_completed(jobs):
            yield job.result()


def side_by_side(workers: int) -> ProcessPoolExecutor:
    """Processes that keep to a core each: with threads of their own they would wait for one another.

    They live as long as the pool. Executors that replace a worker after some tasks
    (`max_tasks_per_child`) may end all of them and start none (CPython 3.11, 3.12): then nothing goes on.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    context = get_context("spawn")
    cores = context.Queue()
    for k in range(workers):
        cores.put(k)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(cores,))


def _begin(cores: Any) -> None:
    """Take a core, and end when the pool does, also if it is killed."""
    Thread(target=_end_with, args=(parent_process(),), daemon=True).start()
    if sys.platform == "linux":  # elsewhere there is no such call: threads share the cores
        own, k = sorted(os.sched_getaffinity(0)), cores.get()
        os.sched_setaffinity(0, {own[k % len(own)]})


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _stored(seed: int, folder: Path, command: str) -> dict[str, Any]:
    row = measure(random_system(seed))
    path = row_file(folder, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**row, "command": command, "environment": environment()})
    jax.clear_caches()  # a process that fits for hours would keep every program
    return row


def measure(system: RandomSystem) -> dict[str, Any]:
    """Simulate, fit with the defaults, compare with the truth."""
    import uidd

    data = system.simulate()
    truth, truth_error = system.entropy_production_rate
    row: dict[str, Any] = {"seed": system.seed, **system.about, "truth": truth, "truth_error": truth_error}
    row |= {"total_time": data.total_time / system.fastest}
    began = time.perf_counter()
    try:
        fit = uidd.fit(data, seed=0, progress=False)
        rate = uidd.entropy_production(fit)
    except Exception as error:  # a traceback is a row of its own
        return row | {"code": "failed", "message": repr(error), "seconds": time.perf_counter() - began}
    row["seconds"] = time.perf_counter() - began
    # Down from the rate and up from it the interval has lengths of its own.
    bound = rate.interval[0 if rate.rate > truth else 1]
    error = float(np.hypot((bound - rate.rate) / 1.959964, truth_error))
    states = np.concatenate(data.states)
    some = states[:: max(1, len(states) // LOOKED_AT)]
    code = rate.result.code if fit.result.successful else fit.result.code
    row |= {
        "rate": rate.rate,
        "standard_error": rate.standard_error,
        "z": (rate.rate - truth) / error if error > 0 else 0.0,
        "code": code,
        "message": (rate.result if fit.result.successful else fit.result).message,
        "drift_gain": fit.tests[0].nats if fit.tests else None,
        "linear": not any(test.called_for for test in fit.tests),
        "checks": fit.checks.to_dict(),
        **_fields(system, fit, some),
    }
    if fit.ensemble.stationary:
        # How much of z is that recorded states are some of all.
        mean, spread = system.mean_rate(in_stretches(fit.ensemble.recorded))
        row["truth_over_recorded"], row["truth_over_recorded_error"] = mean, spread
    return row


def _fields(system: RandomSystem, fit: Any, states: np.ndarray) -> dict[str, float]:
    """Errors of V in kT and of f_irr relative to its size, over recorded states; what the ensemble says."""
    model = fit.model
    unit = jnp.asarray(model.scaling.to_unit(states), jnp.result_type(float))
    with jax.enable_x64(True):
        exact_V, exact_f = (np.asarray(a) for a in _truth(system.dynamics, jnp.asarray(states)))
    V, f = (np.asarray(a, np.float64) for a in _learned(model.unit, unit))
    f = f * np.asarray(model.scaling.scale) / model.scaling.time
    members = [np.asarray(_learned(each.unit, unit)[0], np.float64) for each in fit.models]
    off = V - exact_V
    apart = np.stack(members) - V if members else np.zeros((1, len(V)))
    apart = apart - apart.mean(axis=1, keepdims=True)
    size = float(np.sqrt(np.mean(exact_f**2)))
    return {
        "V_error": float(off.std()),
        "V_stated": float(np.sqrt(np.mean(apart**2))),
        "f_irr_error": float(np.sqrt(np.mean((f - exact_f) ** 2)) / size) if size else float(np.abs(f).max()),
    }


@compiled
def _truth(dynamics, states):
    return jax.lax.map(
        lambda z: (dynamics.potential(z), dynamics.irreversible_drift(z)), states, batch_size=500
    )


@compiled
def _learned(unit, states):
    return jax.lax.map(lambda z: (unit.potential(z), unit.irreversible_drift(z)), states, batch_size=500)


@dataclass(frozen=True)
class Bar:
    """What must hold, what was found, and whether it does."""

    what: str
    found: str
    met: bool


def bars(rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """The bars over all rows."""
    ok = [row for row in rows if row["code"] == "ok"]
    if not ok:
        return [Bar("at least 80 % ok", "no row is", False)]
    # In one dimension there is no current to be found: the rate is zero, whatever the fit.
    z = np.abs([row["z"] for row in ok if row["dimension"] > 1] or [0.0])
    wrong_V = [r["seed"] for r in ok if r["V_error"] > max(V_LIMIT, V_ERRORS * r["V_stated"])]
    straight = [r["seed"] for r in ok if r["linear"] and (r["drift_gain"] or 0.0) > BENT]
    small = [r["seconds"] for r in rows if r["dimension"] <= 4 and r["pairs"] <= 300_000]
    inside, share = z < 1.959964, len(ok) / len(rows)
    # Without a current the truth is zero, and an interval that does not hold it is a false alarm.
    driven = np.array([row["truth"] > 0 for row in ok if row["dimension"] > 1] or [False])
    covered = float(np.mean(inside[driven])) if driven.any() else 1.0
    return [
        Bar("ok: |z| > 3 in at most 1 %", f"{np.mean(z > 3):.1%}", bool(np.mean(z > 3) <= 0.01)),
        Bar(
            "ok: 95 % intervals of systems with a current cover 92 to 98 %",
            f"{covered:.1%} of {driven.sum()}; {np.mean(inside):.1%} of all {len(inside)}",
            0.92 <= covered <= 0.98,
        ),
        Bar("ok: no |z| above 4", f"{z.max():.2f}", bool(z.max() <= 4)),
        Bar(
            "ok: V within max(.15 kT, three stated errors)",
            f"{len(wrong_V)} are not: seeds {wrong_V[:12]}",
            not wrong_V,
        ),
        Bar("no bent drift called linear", f"{len(straight)}: seeds {straight[:12]}", not straight),
        Bar("at least 80 % ok", f"{share:.1%}", share >= 0.8),
        Bar(
            "D <= 4, 300,000 pairs: median 40 s, worst 180 s",
            f"{np.median(small):.0f} s, {np.max(small):.0f} s" if small else "none",
            bool(small) and float(np.median(small)) <= 40 and float(np.max(small)) <= 180,
        ),
    ]


def stored_rows(folder: Path) -> list[dict[str, Any]]:
    """In the order of their seeds."""
    found = (read_json(path) for path in sorted((folder / "rows").glob("seed*.json")))
    return sorted(found, key=lambda row: row["seed"])


def _system(r: dict[str, Any]) -> list[str]:
    """Seed, system and recording."""
    kind = f"{r['dimension']}-D {r['landscape']}, {r['depth']:.1f} kT, {r['noise']} noise"
    recording = f"{r['recording']}, {r['starts']}, {r['pairs']} pairs, dt {r['step']:.3f}"
    return [f"{r['seed']}", f"{kind}, W {r['circulation']}", recording]


def _cells(r: dict[str, Any]) -> list[str]:
    """One system and what was found."""
    known = [*_system(r), f"{r['truth']:.4g}"]
    if r["code"] == "failed":
        return [*known, "", "", "", f"failed: {r['message']}", f"{r['seconds']:.0f}"]
    found = [f"{r['rate']:.4g} +- {r['standard_error']:.2g}", f"{r['z']:.2f}"]
    return [*known, *found, f"{r['V_error']:.3f} ({r['V_stated']:.3f})", r["code"], f"{r['seconds']:.0f}"]


def told(row: dict[str, Any]) -> str:
    """One row in a line."""
    z = f"z {row['z']:.2f}" if "z" in row else row["message"]
    return f"seed {row['seed']}, {row['code']}, {z}, {row['seconds']:.0f} s"


def summarised(folder: Path) -> str:
    """Table and figure from all stored rows; the bars in words."""
    from ..plotting.population import population_figure
    from ..plotting.style import png

    rows = stored_rows(folder)
    lines = [f"{'met   ' if bar.met else 'missed'}  {bar.what}: {bar.found}" for bar in bars(rows)]
    lines += [*compared(rows, population_peers.stored_rows(folder)), f"Written to {write_table(folder)}"]
    if any("z" in row for row in rows):
        write_atomically(folder / "figure.png", png(population_figure(rows, always=V_LIMIT, errors=V_ERRORS)))
    return "\n".join(lines)


def write_table(folder: Path) -> Path:
    """`table.md`: the bars, and which systems do not say `ok`, and why; `systems.md`: a line for each."""
    rows = stored_rows(folder)
    # |z| would end a cell
    met = [[bar.what.replace("|", "\\|"), bar.found, "yes" if bar.met else "no"] for bar in bars(rows)]
    lines = _table(("bar", "found", "met"), met)
    if beside := compared(rows, population_peers.stored_rows(folder)):
        lines += ["", *beside]
    if unsure := [row for row in rows if row["code"] != "ok"]:
        why = [[*_system(row), row["code"], row["message"]] for row in unsure]
        lines += ["", *_table(("seed", "system that does not say `ok`", "recording", "code", "reason"), why)]
    columns = ("seed", "system", "recording", "truth", "rate", "z", "V off (stated), kT", "code", "s")
    words = ["# Every system", "", *_table(columns, [_cells(row) for row in rows])]
    (folder / "systems.md").write_text("\n".join(words) + "\n")
    path = folder / "table.md"
    path.write_text("\n".join(lines) + "\n")
    return path


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """In Markdown."""
    return [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]
