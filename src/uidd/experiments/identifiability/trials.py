"""Every model of the paper's Table 1 on systems with a known answer, from several seeds: one trial a fit."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._programs import compiled
from ...baselines import regauged
from ...baselines.onsager_net import OnsagerDrift
from ...data import Trajectories
from ...dynamics import ComponentDynamics
from ...landscape import barrier, project
from ...likelihood import EulerMaruyama
from ...models import environment
from ...thermodynamics import entropy_production
from ...training import Fit, fit, held_out_error
from ..archive import read_archive, write_archive
from .cases import CASES, MODELS, Case, Size

ARRAYS = ("gradient", "irreversible", "surface", "grid")
TEMPERATURES = (1.0, 0.1, 0.01, 0.001)


@dataclass(frozen=True)
class Trial:
    """One fit, seen at points that are the same for all fits of a case.

    Attributes:
        case: Its name.
        model: Its name.
        seed: Of the fit.
        figures: Held-out loss, error of the drift, entropy production and barrier with their errors, result
            codes, seconds; of OnsagerNet also the gauge and the limit of small temperature.
        gradient: grad V `(n, D)`.
        irreversible: f_irr `(n, D)`, or what the model has in its place.
        surface: V over the first two coordinates, its minimum over the others, NaN where no data are.
        grid: The two coordinates of `surface`.
    """

    case: str
    model: str
    seed: int
    figures: dict[str, Any]
    gradient: np.ndarray
    irreversible: np.ndarray
    surface: np.ndarray
    grid: np.ndarray

    def write(self, path: Path, made_by: dict[str, Any]) -> None:
        """As a NumPy archive."""
        words = {"case": self.case, "model": self.model, "seed": self.seed, "figures": self.figures}
        arrays = {name: getattr(self, name).astype(np.float32) for name in ARRAYS}
        write_archive(path, {**words, "made by": made_by}, arrays)

    @classmethod
    def read(cls, path: Path) -> tuple["Trial", dict[str, Any]]:
        """What `write` wrote, and what it was made by."""
        words, arrays = read_archive(path)
        made_by = words.pop("made by", {})
        fields: dict[str, Any] = {name: values.astype(float) for name, values in arrays.items()}
        return cls(**words, **fields), made_by


def trial_file(folder: Path, case: str, model: str, seed: int) -> Path:
    """Where a trial is stored."""
    return folder / "trials" / f"{case} {model} {seed}.npz".replace(" ", "-")


def trial(size: Size, case_name: str, model: str, seed: int, data: Trajectories | None = None) -> Trial:
    """Simulate, fit, look."""
    case = CASES[case_name]
    data = size.data(case) if data is None else data
    begun = time.monotonic()
    # Without W on driven data the noise has to make up for the current, and every step of a better density
    # is costly; beside what is missing, Euler's bias is nothing.
    euler = EulerMaruyama() if model == "Stat-PINNs" and case.driven else None
    fitted = fit(
        data, seed=seed, architecture=MODELS[model], likelihood=euler, plan=size.plan, progress=False
    )
    seconds = time.monotonic() - begun
    points = case.draw(np.random.default_rng(7), size.points)
    drift, gradient, irreversible = seen(fitted.model, points)
    exact = seen(case.system.dynamics, points)
    figures: dict[str, Any] = {
        "test_loss": fitted.test_loss,
        "held_out_error": held_out_error(fitted).error,
        "drift_error": _relative(drift, exact[0]),
        "gradient_error": _relative(gradient, exact[1]),
        "result": fitted.result.code,
        "seconds": seconds,
        "device": environment()["device"],
    }
    if isinstance(fitted, Fit):
        rate = entropy_production(fitted, seed=seed)
        figures |= {"rate": rate.rate, "rate_error": rate.standard_error, "rate_result": rate.result.code}
    else:
        with jax.enable_x64(True):
            local = np.asarray(_locally(fitted.model, jnp.asarray(points)))
        figures |= {"rate": float(local.mean()), "rate_error": float(local.std() / len(local) ** 0.5)}
    if case.wells:
        found = barrier(fitted, *case.system.minima)
        figures |= {"barrier": found.height, "barrier_error": found.standard_error}
        figures |= {"barrier_result": found.result.code}
    if model == "OnsagerNet" and isinstance(fitted.model.unit, OnsagerDrift):
        figures |= freedom(fitted.model.unit, fitted.model.scaling.to_unit(points))
    surface = project(fitted.model.potential, (0, 1), states=_region(case, data), bins=size.bins)
    return Trial(
        case_name, model, seed, figures, gradient, irreversible, surface.values, np.stack(surface.grid)
    )


def seen(model: Any, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f, grad V and f_irr at the points, in double precision."""
    with jax.enable_x64(True):
        drift, gradient, irreversible = map(np.asarray, _fields(model, jnp.asarray(points)))
    return drift, gradient, irreversible


def freedom(model: OnsagerDrift, points: np.ndarray) -> dict[str, Any]:
    """What a trained OnsagerNet says of itself: another gauge of it, and the limit of small temperature.

    The gauge is phi(V) = V + log(1 + e^V). Its drift is the same and its forces are not. In the temperature
    form with the same V~, M~, W~ the drift differs by T (div M~ + div W~).
    """
    other = regauged(model, lambda V: V + jax.nn.softplus(V))
    drift, gradient, _ = seen(model, points)
    same, changed, _ = seen(other, points)
    parts = (model.potential_component, model.dissipation_component, model.circulation_component)
    limit = [
        _relative(seen(ComponentDynamics(*parts, temperature=T), points)[0], drift) for T in TEMPERATURES
    ]
    return {
        "gauge_drift": _relative(same, drift),
        "gauge_gradient": _relative(changed, gradient),
        "limit": limit,
    }


def truth_surface(case: Case, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """The exact V over the first two coordinates, and the grid."""
    states = _region(case, size.data(case))
    exact = project(case.system.dynamics.potential, (0, 1), states=states, bins=size.bins)
    return exact.values, np.stack(exact.grid)


def _region(case: Case, data: Trajectories) -> np.ndarray:
    """Where potentials are drawn: states of the later halves of the paths, as many for all sizes."""
    late = np.concatenate([path[len(path) // 2 :] for path in data.states])
    return late[:: -(-len(late) // 20_000)]


def _relative(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


@compiled
def _fields(model, points):
    return jax.vmap(lambda z: (model.drift(z), model.potential_gradient(z), model.irreversible_drift(z)))(
        points
    )


@compiled
def _locally(model, points):
    return jax.vmap(model.local_entropy_production)(points)
