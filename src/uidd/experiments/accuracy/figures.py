"""How far a learned model is from the exact one: fields over a region, barriers, forces.

The relative error of a field g over states with weights w is sqrt(sum w |g - g*|^2 / sum w |g*|^2), the norm
of a matrix being Frobenius'. V is known up to a constant, so its mean over the states is taken off both sides
first. f_irr is compared relative to the drift where the exact one vanishes.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..._programs import compiled
from ...data import Trajectories
from ...dynamics import AbstractDynamics
from ...landscape.stationary import next_to
from ...landscape.surface import Potential, Surface
from ...systems import Metastable
from ...systems.langevin import Box

DOUBLE_WELL_BOX: Box = ((0.0, 3.0), (0.0, 3.0))
METASTABLE_BOX: Box = ((-2.0, 2.0), (-3.0, 3.0))
VARYING_NOISE_BOX: Box = ((-3.0, 3.0), (-6.0, 6.0))
# One standard deviation to the half-width of a 90 % interval.
NINETY = 1.644854


class Fitted(Protocol):
    """What is read of a fit: the model to plot, and the ensemble."""

    @property
    def model(self) -> AbstractDynamics:
        """The one."""
        ...

    @property
    def models(self) -> tuple[AbstractDynamics, ...]:
        """All of them."""
        ...


def linear_figures(system: Any, fit: Fitted, data: Trajectories) -> dict[str, float]:
    """Errors of the fields over 4,000 exact stationary draws of a linear system."""
    draws = np.random.default_rng(0).multivariate_normal(
        np.zeros(data.dimension), system.covariance, 4000, method="cholesky"
    )
    return field_errors(fields(fit.model, draws), fields(system.dynamics, draws))


def double_well_figures(system: Any, fit: Fitted, data: Trajectories) -> dict[str, float]:
    """Errors over an even grid on {U < 10 D}, which is {V < 10}, and the barrier of the ensemble."""
    learned, true = _on_grid(fit.model, system.dynamics, DOUBLE_WELL_BOX)
    low = true.V - true.V.min() < 10
    heights = np.array([barrier(m.potential, system.minima, system.saddles[0]) for m in fit.models])
    found = heights[np.isfinite(heights)]
    # A mean over the few members that have a barrier at all would hide the others.
    mean = float(found.mean()) if len(found) >= 0.9 * len(heights) else np.nan
    spread = float(found.std(ddof=1)) if np.isfinite(mean) and len(found) > 1 else np.nan
    exact = float(system.barriers[0])
    return {
        **field_errors(learned.at(low), true.at(low)),
        "barrier": abs(mean / exact - 1),
        "barrier height": mean,
        "barrier 90 % from": mean - NINETY * spread,
        "barrier 90 % to": mean + NINETY * spread,
        "barrier deviations": abs(mean - exact) / spread if spread else np.nan,
        "barriers found": len(found) / len(heights),
    }


def metastable_figures(system: Metastable, fit: Fitted, data: Trajectories) -> dict[str, float]:
    """The errors as DynGMA's published ones are computed (its `TwoDimensionPlot.ipynb`), and ours.

    Theirs: of the drift over an even grid on the whole box [-2, 2] x [-3, 3]; of sigma sigma^T = 2 M (not
    of sigma) in Frobenius' norm; of V over the grid points with V < 15 (15 eps, their V being eps times
    ours), each V counted from its own minimum on the grid, the learned one cut off at 15, divided by the root
    mean square of the exact one. Ours, with `on {V < 15}` in the name, as for the other systems.
    """
    learned, true = _on_grid(fit.model, system.dynamics, METASTABLE_BOX)
    V, V_true = (np.minimum(each.V - each.V.min(), 15.0) for each in (learned, true))
    low = V_true < 15
    M, M_true = (each.sigma @ each.sigma.transpose(0, 2, 1) for each in (learned, true))
    ours = field_errors(learned.at(low), true.at(low))
    return {
        "drift": relative_error(learned.drift, true.drift),
        "sigma": relative_error(M, M_true),
        "V": relative_error(V[low], V_true[low]),
        **{f"{name} on {{V < 15}}": value for name, value in ours.items()},
    }


def muller_brown_figures(system: Any, fit: Fitted, data: Trajectories) -> dict[str, float]:
    """Errors over the recorded states, and sum |F - F*|^2 / sum |F*|^2 of the force there."""
    states = np.concatenate(data.states)
    errors = field_errors(fields(fit.model, states), fields(system.dynamics, states))
    return {**errors, "force NMSE": errors["drift"] ** 2}


def muller_brown_peer_figures(system: Any, data: Trajectories) -> dict[str, float]:
    """The same of the force that stochastic force inference finds."""
    from ..peers import sfi_force

    states = np.concatenate(data.states)
    force, exact = sfi_force(data)(states), fields(system.dynamics, states).drift
    return {"force NMSE": relative_error(force, exact) ** 2}


def varying_noise_figures(system: Any, fit: Fitted, data: Trajectories) -> dict[str, float]:
    """Errors over an even grid on {V < 8} for V, over the stationary density by quadrature for the rest."""
    learned, true = _on_grid(fit.model, system.dynamics, VARYING_NOISE_BOX)
    V = true.V - true.V.min()
    low, likely = V < 8, V < 20
    errors = field_errors(learned.at(likely), true.at(likely), np.exp(-V[likely]))
    everywhere = field_errors(learned.at(low), true.at(low))
    return {
        **errors,
        "V": everywhere["V"],
        "V over the stationary density": errors["V"],
        "sigma on {V < 8}": everywhere["sigma"],
    }


class Fields(NamedTuple):
    """V, f, sigma and f_irr at some states."""

    V: np.ndarray
    drift: np.ndarray
    sigma: np.ndarray
    irreversible: np.ndarray

    def at(self, chosen: np.ndarray) -> "Fields":
        """The same at some of the states."""
        return Fields(*(part[chosen] for part in self))


def fields(dynamics: AbstractDynamics, states: np.ndarray) -> Fields:
    """The fields of `dynamics` at states `(n, D)`."""
    return Fields(*(np.asarray(part, np.float64) for part in _mapped(dynamics, jnp.asarray(states))))


@compiled
def _mapped(dynamics: AbstractDynamics, states: jax.Array) -> tuple[jax.Array, ...]:
    def one(z):
        return dynamics.potential(z), dynamics.drift(z), dynamics.diffusion(z), dynamics.irreversible_drift(z)

    return jax.lax.map(one, states, batch_size=4096)


def _on_grid(model: AbstractDynamics, exact: AbstractDynamics, box: Box) -> tuple[Fields, Fields]:
    nodes = even_grid(box)
    return fields(model, nodes), fields(exact, nodes)


def field_errors(learned: Fields, true: Fields, weights: np.ndarray | None = None) -> dict[str, float]:
    """Relative errors of V, drift, sigma and f_irr over the same states."""
    w = np.ones(len(true.V)) if weights is None else weights
    V, V_true = (each.V - np.average(each.V, weights=w) for each in (learned, true))
    current = true.irreversible if np.any(true.irreversible) else true.drift
    return {
        "V": relative_error(V, V_true, w),
        "drift": relative_error(learned.drift, true.drift, w),
        "sigma": relative_error(learned.sigma, true.sigma, w),
        "f_irr": relative_error(learned.irreversible - true.irreversible + current, current, w),
    }


def relative_error(found: np.ndarray, true: np.ndarray, weights: np.ndarray | None = None) -> float:
    """sqrt(sum w |found - true|^2 / sum w |true|^2), the first axis being the states."""
    w = np.ones(len(true)) if weights is None else weights
    off, size = ((part.reshape(len(true), -1) ** 2).sum(axis=1) @ w for part in (found - true, true))
    return float(np.sqrt(off / size)) if size > 0 else np.nan


def even_grid(box: Box, points: int = 200) -> np.ndarray:
    """The midpoints of points x points cells."""
    axes = [low + (high - low) * (np.arange(points) + 0.5) / points for low, high in box]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def barrier(potential: Potential, minima: np.ndarray, saddle: np.ndarray) -> float:
    """The height of the saddle above the minima, averaged over them; from guesses of where they are.

    NaN if next to a guess there is no such point, or only one that is nearer to another guess.
    """
    apart = np.linalg.norm(minima - saddle, axis=1).min()
    surface = Surface(potential, saddle, np.full(len(saddle), apart))

    def energy(guess: np.ndarray, index: int) -> float:
        point = next_to(surface, guess, index=index)
        near = np.linalg.norm(point.x - guess) < 0.5 * apart
        return point.energy if point.result.successful and near else np.nan

    return energy(saddle, 1) - float(np.mean([energy(guess, 0) for guess in minima]))
