"""Every model of the paper's Table 1 on systems with a known answer, from several seeds: one trial a fit."""

import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import InputError
from .._files import write_atomically
from .._programs import compiled
from ..baselines import GFINN, Onsager, OnsagerNet, StatPINNs, StochasticOnsagerNet, regauged
from ..baselines.onsager_net import OnsagerDrift
from ..data import Trajectories
from ..dynamics import ComponentDynamics
from ..landscape import barrier, project
from ..likelihood import EulerMaruyama
from ..models import Architecture, environment
from ..systems import DoubleWell, DrivenWells, Linear
from ..systems.driven_wells import stationary_states
from ..thermodynamics import entropy_production
from ..training import Fit, Plan, Trainable, fit, held_out_error

MODELS: dict[str, Architecture | Trainable] = {
    "ours": Architecture(),
    "Stat-PINNs": StatPINNs(),
    "Onsager": Onsager(),
    "OnsagerNet": OnsagerNet(),
    "S-OnsagerNet": StochasticOnsagerNet(),
    "GFINN": GFINN(),
}
WITH_A_DENSITY = ("ours", "Stat-PINNs")
TEMPERATURES = (1.0, 0.1, 0.01, 0.001)


@dataclass(frozen=True)
class Case:
    """A system, how its data are made, and where models are compared.

    Attributes:
        name: As in the table.
        system: With its truth.
        simulate: From paths and frames to data; the seed is the same for all fits.
        draw: From a generator and a number to stationary states, for comparisons.
        driven: Whether it is out of equilibrium.
    """

    name: str
    system: Any
    simulate: Callable[[int, int], Trajectories]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    driven: bool = True


def _linear(name: str, strength: float) -> Case:
    system = Linear(strength)
    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, scheme="exact", seed=0),
        lambda generator, count: generator.multivariate_normal(np.zeros(2), system.covariance, count),
        strength != 0,
    )


def _double_well(name: str, circulation: float) -> Case:
    system = DoubleWell(circulation)

    def draw(generator: np.random.Generator, count: int) -> np.ndarray:
        ends = system.simulate(count, 200, 0.02, seed=1).states
        return np.stack([path[-1] for path in ends])

    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, 0.02, seed=0),
        draw,
        circulation != 0,
    )


def _driven_wells(name: str, drive: float) -> Case:
    system = DrivenWells(drive)
    return Case(
        name,
        system,
        lambda paths, frames: system.simulate(paths, frames, seed=0),
        stationary_states,
        drive != 0,
    )


CASES = {
    case.name: case
    for case in (
        _linear("linear", 1.0),
        _double_well("double well", 0.5),
        _driven_wells("driven wells", 0.5),
        _linear("linear at rest", 0.0),
        _double_well("double well at rest", 0.0),
        _driven_wells("wells at rest", 0.0),
    )
}


@dataclass(frozen=True)
class Size:
    """How much of everything.

    Attributes:
        linear: Paths and frames of the linear systems.
        double_well: Of the double wells.
        driven_wells: Of the wells in three dimensions.
        seeds: Fits of each model to the data of each driven system.
        plan: Of the models that are trained by Adam.
        points: States at which fits are compared.
        bins: Of the pictures, a coordinate.
        at_rest: The undriven systems, on which ours and Stat-PINNs are compared.
    """

    linear: tuple[int, int]
    double_well: tuple[int, int]
    driven_wells: tuple[int, int]
    seeds: int
    plan: Plan
    points: int
    bins: int
    at_rest: tuple[str, ...] = ()

    def data(self, case: Case) -> Trajectories:
        """Of a case."""
        kinds = {Linear: self.linear, DoubleWell: self.double_well, DrivenWells: self.driven_wells}
        return case.simulate(*kinds[type(case.system)])

    def trials(self) -> Iterator[tuple[str, str, int]]:
        """Case, model and seed of all fits. At rest only the two models with a density are compared."""
        for case in CASES.values():
            if not case.driven and case.name not in self.at_rest:
                continue
            for model in MODELS if case.driven else WITH_A_DENSITY:
                for seed in range(self.seeds if case.driven else 1):
                    yield case.name, model, seed


SIZES = {
    "quick": Size(
        linear=(400, 101),
        double_well=(60, 400),
        driven_wells=(60, 300),
        seeds=2,
        plan=Plan(steps=300, batch=512, learning_rate=1e-2, steps_per_epoch=100),
        points=200,
        bins=24,
        at_rest=("linear at rest",),
    ),
    "paper": Size(
        linear=(10_000, 101),
        double_well=(400, 1000),
        driven_wells=(400, 1000),
        seeds=4,
        plan=Plan(steps=12_000, batch=4096, learning_rate=5e-3, steps_per_epoch=400),
        points=400,
        bins=40,
        at_rest=("linear at rest", "double well at rest", "wells at rest"),
    ),
}


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
        content = io.BytesIO()
        np.savez_compressed(
            content,
            words=np.array(json.dumps({**words, "made by": made_by})),
            gradient=self.gradient.astype(np.float32),
            irreversible=self.irreversible.astype(np.float32),
            surface=self.surface.astype(np.float32),
            grid=self.grid.astype(np.float32),
        )
        write_atomically(path, content.getvalue())

    @classmethod
    def read(cls, path: Path) -> tuple["Trial", dict[str, Any]]:
        """What `write` wrote, and what it was made by."""
        try:
            with np.load(path) as archive:
                words = json.loads(str(archive["words"]))
                arrays = {name: archive[name].astype(float) for name in archive.files if name != "words"}
                made_by = words.pop("made by")
                return cls(**words, **arrays), made_by
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"'{path}' is not a readable trial ({error}). Remove it.") from error


def trial_file(folder: Path, case: str, model: str, seed: int) -> Path:
    """Where a trial is stored."""
    return folder / "trials" / f"{case} {model} {seed}.npz".replace(" ", "-")


def trial(size: Size, case_name: str, model: str, seed: int, data: Trajectories | None = None) -> Trial:
    """Simulate, fit, look."""
    case = CASES[case_name]
    data = size.data(case) if data is None else data
    begun = time.monotonic()
    # Without W on driven data the noise has to make up for the current, and every step of a better density
    # is dear; beside what is missing, Euler's bias is nothing.
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
    if len(getattr(case.system, "minima", ())) == 2:
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
