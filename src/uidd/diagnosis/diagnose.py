"""From chains to entropy production, relative Fisher information and a batch size."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._checks import fail, positive, whole_number
from .._types import Result
from ..data import Transitions
from ..thermodynamics import Estimate, cross_fitted, cross_fitted_work
from ..training.replicas.polynomials import PolynomialReplicas, fit_polynomial_replicas
from .chains import FULL, BatchSize, Chains, by_batch_size
from .discrepancy import discrepancy
from .recommendation import recommend
from .records import BatchDiagnosis, SamplerDiagnosis
from .stationarity import independent_draws, moves_on

LEVEL = 0.01
# With K parts the least chance is 2^(1 - K), which has to be below the level.
FEWEST_PARTS = 8
MOST_STATES = 12_000
# Independent draws in a part below which the finite length of the chains is felt, by a tenth and more.
FEWEST_DRAWS = 20
# The share of the states at which polynomials are not asked.
OUTERMOST = 0.02


def diagnose_sampler(
    chains: Any,
    *,
    step: float,
    noise: float | None = 2.0,
    full_batch: Any = None,
    thin: int = 1,
    burn_in: float = 0.0,
    parts: int = 12,
    report: Callable[[str], None] = lambda _: None,
) -> SamplerDiagnosis:
    """Say from the chains of a sampler alone how far from detailed balance they are.

    Successive draws are z' = z + f dt + N(0, 2 M dt). From independent parts of the chains f, M and V are
    found (`fit_polynomial_replicas`), so that f_irr = f + M grad V - div M is known several times over; the
    work of M^-1 f_irr of one part along the chains of another is the entropy production, without what noise
    adds to a square (`cross_fitted_work`). In detailed balance it is noise of either sign, and turning the
    signs of whole parts says how often noise alone gives as much.

    Args:
        chains: An array (chains, draws, D), or (draws, D) for one chain; ArviZ's `InferenceData`, or an
            xarray dataset over chain and draw; or a mapping from batch sizes (None or `full` for all data) to
            these.
        step: The time of one iteration, the learning rate of z' = z - step * grad L + N(0, noise * step).
        noise: The variance of the injected noise per unit time, 2 for SGLD. None leaves out the relative
            Fisher information, which needs it.
        full_batch: Chains with all data in every batch, to compare to.
        thin: Iterations from a draw to the next.
        burn_in: The share of every chain's draws that is left out at its start.
        parts: Independent parts of the chains, at least.
        report: Told what has been done.

    >>> noise = np.random.default_rng(0).standard_normal((8, 2000, 2))
    >>> z = [np.zeros((8, 2))]
    >>> for xi in np.moveaxis(noise, 1, 0):
    ...     z.append(z[-1] - 0.1 * z[-1] + 0.2**0.5 * xi)
    >>> diagnose_sampler(np.stack(z, axis=1), step=0.1, burn_in=0.1).batches[0].broken
    False
    """
    step, noise = positive("step", step), None if noise is None else positive("noise", noise)
    dt = step * whole_number("thin", thin)
    whole_number("parts", parts, least=FEWEST_PARTS)
    if not (isinstance(burn_in, int | float) and 0 <= burn_in < 1):
        fail("burn_in", "a share of the draws, from 0 to below 1", repr(burn_in))
    given = by_batch_size(chains)
    if full_batch is not None:
        if FULL in given:
            fail("full_batch", "left out where `chains` has a full batch", "both")
        given[FULL] = Chains.of(full_batch, "full_batch")
    given = {size: each.without_start(burn_in) for size, each in given.items()}
    widths = sorted({each.states.shape[2] for each in given.values()})
    if len(widths) > 1:
        fail("chains", "of one dimension for all batch sizes", f"dimensions {widths}")
    full = given[FULL].states if FULL in given else None
    found = []
    for size, each in given.items():
        found.append(_diagnosed(size, each, dt, noise, thin, parts, full))
        report(f"batch size {size}: {found[-1].rate}")
    recommended, words = recommend(found, LEVEL)
    return SamplerDiagnosis(tuple(found), recommended, words, LEVEL, step)


def _diagnosed(
    size: BatchSize,
    chains: Chains,
    dt: float,
    noise: float | None,
    thin: int,
    parts: int,
    full: np.ndarray | None,
) -> BatchDiagnosis:
    _check_moving(size, chains)
    pieces = _pieces(chains.states, parts)
    pairs = [_pairs(piece, dt) for piece in pieces]
    D, fewest = chains.states.shape[2], min(len(each.dt) for each in pairs)
    if fewest < max(100, 20 * (D + 1)):
        advice = f"Run longer, or take fewer than {len(pieces)} parts (at least {FEWEST_PARTS})."
        fail("chains", f"at least {max(100, 20 * (D + 1))} pairs of draws a part", fewest, advice)
    replicas = fit_polynomial_replicas(pairs)
    states = _spread_out([each.start for each in pairs])
    notes = [
        *_notes_on_chains(chains.states, len(pieces), thin),
        *_notes_on_noise(replicas, states, noise, size),
    ]
    information = None
    if noise is not None:
        information = cross_fitted(replicas.score_gaps(states, noise), stretches=len(pieces)).corrected
    if D == 1:
        words = "One coordinate has no currents: its entropy production is zero whatever the sampler does."
        notes.append(Result("one_dimension", words))
        rate, plug_in, chance = Estimate(0.0, 0.0), 0.0, 1.0
    else:
        drawn_in = _drawn_in(states)
        work = cross_fitted_work(lambda z: replicas.forces(drawn_in(z)), pairs)
        square = cross_fitted(replicas.currents(drawn_in(states)), stretches=len(pieces))
        rate, plug_in, chance = work.corrected, square.plug_in, work.chance
        apart = abs(square.corrected.rate - rate.rate)
        if apart > max(3 * rate.standard_error, 0.15 * abs(rate.rate)):
            words = (
                f"The square of the current gives {square.corrected.rate:.3g} in place of {rate.rate:.3g}: "
                "polynomials do not follow V or the noise, and the rate may be off by as much."
            )
            notes.append(Result("not_resolved", words))
    if D > 1 and size != FULL and replicas.degrees[1] == 0:
        words = (
            "The draws do not show that the noise varies; a current from small variations would be missed."
        )
        notes.append(Result("constant_noise", words))
    return BatchDiagnosis(
        batch_size=size,
        rate=rate,
        plug_in=plug_in,
        chance=chance,
        broken=chance < LEVEL,
        fisher_information=information,
        discrepancy=None if size == FULL else discrepancy(states, full),
        pairs=sum(len(each.dt) for each in pairs),
        parts=len(pieces),
        notes=tuple(notes),
    )


def _drawn_in(states: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """From states to themselves, or to the surface of the ellipsoid that holds all but the outermost.

    Beyond it polynomials are not determined, and fields stay as they are at its surface.
    """
    center, root = states.mean(axis=0), np.linalg.cholesky(np.cov(states.T))

    def distances(z: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.linalg.solve(root, (z - center).T), axis=0)

    radius = np.quantile(distances(states), 1 - OUTERMOST)

    def drawn_in(z: np.ndarray) -> np.ndarray:
        return center + (z - center) * np.minimum(1.0, radius / np.maximum(distances(z), 1e-12))[:, None]

    return drawn_in


def _check_moving(size: BatchSize, chains: Chains) -> None:
    flat = chains.states.reshape(-1, chains.states.shape[2])
    low, high = np.quantile(flat, (0.25, 0.75), axis=0)
    still = [name for name, moves in zip(chains.coordinates, high > low, strict=True) if not moves]
    if still:
        fail(
            "chains",
            "coordinates that move",
            f"{', '.join(still[:3])} constant at batch size {size}",
            "Leave it out.",
        )


def _pieces(states: np.ndarray, parts: int) -> list[np.ndarray]:
    """Groups of chains where there are enough of them, else stretches of every chain."""
    if len(states) >= parts:
        return np.array_split(states, parts)
    stretches = -(-parts // len(states))
    return [piece for chain in states for piece in np.array_split(chain[None], stretches, axis=1)]


def _pairs(piece: np.ndarray, dt: float) -> Transitions:
    start, increment = piece[:, :-1], np.diff(piece, axis=1)
    D = piece.shape[2]
    return Transitions(
        start.reshape(-1, D), increment.reshape(-1, D), np.full(start.shape[0] * start.shape[1], dt)
    )


def _spread_out(parts: Sequence[np.ndarray]) -> np.ndarray:
    """As many states of every part, in order."""
    each = min(MOST_STATES // len(parts), *(len(part) for part in parts))
    return np.concatenate([part[np.linspace(0, len(part) - 1, each).astype(int)] for part in parts])


def _notes_on_chains(states: np.ndarray, parts: int, thin: int) -> list[Result]:
    notes, draws = [], independent_draws(states)
    if moves_on(states):
        words = (
            "The chains still move on: their first and second halves differ. Leave out more of their start."
        )
        notes.append(Result("not_stationary", words))
    if draws < FEWEST_DRAWS * parts:
        words = f"The chains hold only about {draws:.0f} independent draws; rates may be a tenth off."
        notes.append(Result("short", words))
    if thin > 1:
        words = f"Draws are {thin} iterations apart, between which one Euler step is an approximation."
        notes.append(Result("thinned", words))
    return notes


def _notes_on_noise(
    replicas: PolynomialReplicas, states: np.ndarray, noise: float | None, size: BatchSize
) -> list[Result]:
    """Increments vary by the injected noise at least, and with all data in a batch by nothing else."""
    if noise is None:
        return []
    found = replicas.variances(states)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
    low = mean.min() < 0.9 * noise and np.any(mean + 5 * error < noise)
    high = size == FULL and mean.max() > 1.1 * noise and np.any(mean - 5 * error > noise)
    if not (low or high):
        return []
    words = (
        f"The increments vary by {mean.min():.3g} to {mean.max():.3g} per unit time, the injected "
        f"noise by {noise:g}: `step`, `noise` or `thin` is not what made these chains."
    )
    return [Result("noise_mismatch", words)]
