"""Other methods on the same arrays: trajectories in, an entropy production rate with its error out."""

import importlib
import warnings
from collections.abc import Callable
from math import comb
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._checks import InputError
from .._types import Result
from ..data import Scaling, Trajectories
from ..likelihood import EulerMaruyama
from ..report.analysis import counted
from ..thermodynamics import Estimate, irreducible_spread
from ..training import fit_linear

# With more basis functions than these, the search of `sfi` for the few that matter takes longer than its fit.
MOST_FUNCTIONS = 200


def counting(data: Trajectories) -> Estimate:
    """Transitions counted between bins, on the grid that a report chooses; up to three dimensions."""
    return counted(data) or Estimate(
        np.nan,
        np.nan,
        Result("not_judged", f"Counting needs at most 3 coordinates; the data have {data.dimension}."),
    )


def linear_fit(data: Trajectories) -> Estimate:
    """The best linear diffusion of the data, fitted exactly: EPR = -Tr(M^-1 W S W).

    Exact at any dt where the system is linear, blind to all that is not. It has no error of its own; the
    standard error is the irreducible spread.
    """
    scaling = Scaling.of(data)
    found = fit_linear(scaling.transitions_to_unit(data.transitions()))
    M, W = found.diffusion @ found.diffusion.T / 2, found.circulation
    rate = -float(np.trace(np.linalg.solve(M, W @ found.stiffness @ W))) / scaling.time
    return Estimate(rate, irreducible_spread(rate, data.total_time), found.result)


def euler_fit(data: Trajectories, seed: int = 0) -> Estimate:
    """Our own fit with the Euler-Maruyama likelihood, which is what most methods use."""
    import uidd

    try:
        return uidd.entropy_production(uidd.fit(data, seed=seed, likelihood=EulerMaruyama()))
    except (InputError, ArithmeticError, np.linalg.LinAlgError) as error:
        return _stopped("The Euler fit", error)


def sfi(data: Trajectories) -> Estimate:
    """Stochastic force inference (Frishman and Ronceray 2020) by its authors' package, version 2.

    Their linear workflow: a constant diffusion, the force in polynomials of at most third order (lower in
    many dimensions), PASTIS for those that the data support, and with these the entropy production of the
    mean velocity. Coordinates and time are brought to unit size first, which changes neither the span of the
    polynomials nor the entropy produced. Frames must lie on one time step; some may be missing.

    The rate is `Sdot_debiased`, which their documentation advises for point estimates, with their own error;
    the message holds the plain `Sdot`. The two differ by 2 / T for every polynomial, less than the error.
    What the package cannot do gives NaN and the code `failed`.
    """
    package = _sfi_package()
    scaling = Scaling.of(data)
    try:
        found = _sfi_fit(package, data, scaling).compute_entropy_production()
        rate, error, plain = (found[k] / scaling.time for k in ("Sdot_debiased", "Sdot_error", "Sdot"))
        if not np.isfinite([rate, error]).all():
            raise FloatingPointError("the rate is not a finite number")
    except Exception as error:  # whatever a peer raises is its result
        return _stopped("Stochastic force inference", error)
    return Estimate(rate, error, Result("ok", f"Plain rate {plain:.6g} with {found['Nb']} polynomials."))


def sfi_force(data: Trajectories) -> Callable[[np.ndarray], np.ndarray]:
    """The drift that `sfi` finds, as a function of states `(n, D)` in the units of the data."""
    scaling = Scaling.of(data)
    force = _sfi_fit(_sfi_package(), data, scaling).force_inferred

    def drift(states: np.ndarray) -> np.ndarray:
        unit = jnp.asarray(scaling.to_unit(np.asarray(states)), jnp.result_type(float))
        return np.asarray(scaling.scale) / scaling.time * np.asarray(force(unit), np.float64)

    return drift


def require_sfi() -> None:
    """Say at once, and not after a long fit, that the extra is not installed."""
    _sfi_package()


# By name, each from trajectories and a seed.
PEERS: dict[str, Callable[[Trajectories, int], Estimate]] = {
    "SFI": lambda data, seed: sfi(data),
    "Euler fit": euler_fit,
    "counting": lambda data, seed: counting(data),
    "linear fit": lambda data, seed: linear_fit(data),
}


def _stopped(what: str, error: Exception) -> Estimate:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return Estimate(np.nan, np.nan, Result("failed", f"{what} stopped: {reason}"))


def _sfi_package() -> Any:
    try:
        importlib.import_module("SFI.bases")
        return importlib.import_module("SFI")
    except ImportError:
        raise InputError("Stochastic force inference needs the extra: pip install 'uidd[peers]'.") from None


def _sfi_fit(package: Any, data: Trajectories, scaling: Scaling) -> Any:
    """Diffusion, force and the choice of polynomials, in unit-size coordinates."""
    D = data.dimension
    order = max(n for n in (1, 2, 3) if n == 1 or D * comb(n + D, D) <= MOST_FUNCTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its advice is for those who choose by hand
        fit = package.OverdampedLangevinInference(_collection(package, data, scaling))
        fit.compute_diffusion_constant()
        fit.infer_force_linear(package.bases.monomials_up_to(order, dim=D, rank="vector"))
        fit.sparsify_force()
    return fit


def _collection(package: Any, data: Trajectories, scaling: Scaling) -> Any:
    """Every trajectory a particle of its own: one row a frame, numbered by its time step."""
    gaps = [np.diff(t) / scaling.time for t in data.times]
    step = float(np.median(np.concatenate(gaps)))
    counts = [np.rint(gap / step) for gap in gaps]
    if any(np.any(np.abs(gap / step - n) > 1e-3 * n) for gap, n in zip(gaps, counts, strict=True)):
        raise ValueError("its frames must lie on one time step")
    return package.TrajectoryCollection.from_columns(
        np.repeat(np.arange(len(data)), [len(s) for s in data.states]),
        np.concatenate([np.append(0, np.cumsum(n)) for n in counts]).astype(np.int64),
        scaling.to_unit(np.concatenate(data.states)),
        dt=step,
    )
