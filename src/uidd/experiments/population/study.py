"""The defaults on systems that nobody chose: one JSON row a seed, resumable, side by side on all cores."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._programs import compiled
from ...systems.population import RandomSystem, random_system
from ...thermodynamics import in_stretches
from ..rows import Rows

LOOKED_AT = 2000


def run(seeds: Sequence[int], folder: Path, *, workers: int, command: str = "") -> Iterator[dict[str, Any]]:
    """Rows as they come; those that are stored are not measured again."""
    left = [seed for seed in seeds if not Rows(folder).has(f"seed{seed}")]
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
    row = Rows(folder).write(f"seed{seed}", row, command)
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
