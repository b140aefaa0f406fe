"""Paths of steepest descent between minima, by the string method."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from .._checks import fail
from .._types import Result
from .minima import relax
from .records import EnergyPath, StationaryPoint
from .saddles import ascend
from .stationary import same
from .surface import Local, Surface, center_of, states_from

IMAGES = 41
MOST_ITERATIONS = 300
# A settled string has less than this share of the gradient across it.
SETTLED = 0.03
KINK = 0.5
SMOOTH = 0.02
# Strings that begin bent, beside the straight one: how far, as a share of the length.
BENT = (0.3, 0.6)
FINER = 10
# Of the height of a path: how far below its summit the saddle may lie.
LOWER = 0.05


def minimum_energy_path(potential: Any, a: Any, b: Any, *, seed: int = 0) -> EnergyPath:
    """The lowest path that was found from the minimum below `a` to the one below `b`.

    Strings of states, a straight one and some that are bent at random, are relaxed until the gradient is
    along them everywhere. Each step is Newton's in the directions across the string, with the Hessian made
    positive; then the states are spread evenly again. Every summit of the string is brought to a saddle by
    gentlest ascent, every hollow to a minimum: a path may lead over several.

    Lengths are measured in thermal widths, 1 / sqrt(d^2V / dz_i^2) at the two minima, so that units do not
    matter. Minima and saddles depend on no such choice, the way between them does.

    Args:
        potential: Any function z -> float; a model, an ensemble or a fit stand for theirs.
        a: A state near one minimum, or a `StationaryPoint`.
        b: A state near the other.
        seed: Of the bends.
    """
    function, _, _ = center_of(potential)
    return lowest_path(function, *two_minima(function, a, b), seed=seed)


def two_minima(function, a: Any, b: Any) -> tuple[StationaryPoint, StationaryPoint]:
    """The minima below two states."""
    given = [states_from(name, point) for name, point in (("a", a), ("b", b))]
    if len(given[0]) != 1 or len(given[1]) != 1 or given[0].shape != given[1].shape:
        fail("b", f"one state like `a`, of shape {given[0].shape[1:]}", f"shape {given[1].shape[1:]}")
    first, second = relax(Surface.around(function, np.concatenate(given)), np.concatenate(given))
    return first, second


def lowest_path(function, a: StationaryPoint, b: StationaryPoint, *, seed: int = 0) -> EnergyPath:
    """Between two minima that are known."""
    ends = np.stack([a.x, b.x])
    for name, point in (("a", a), ("b", b)):
        if not point.result.successful:
            words = f"There is no minimum below `{name}`: {point.result.message}"
            return EnergyPath(ends, np.array([a.energy, b.energy]), (a, b), (), Result("no_minimum", words))
    surface = in_widths(function, a, b)
    if np.linalg.norm(surface.inward(b.x) - surface.inward(a.x)) < 1e-3:
        words = "Both states lie in the basin of one minimum."
        return EnergyPath(ends, np.array([a.energy, b.energy]), (a, b), (), Result("same_minimum", words))
    strings, moves = _relaxed(surface, _begun(surface, a, b, seed))
    found = [_read(surface, string, move, a, b) for string, move in zip(strings, moves, strict=True)]
    return min(found, key=_rank)


def _rank(path: EnergyPath) -> tuple[bool, float]:
    top = path.highest
    return not path.result.successful, np.inf if top is None else top.energy


def in_widths(function, a: StationaryPoint, b: StationaryPoint) -> Surface:
    """Coordinates in which the thermal fluctuations at two minima are about one."""
    rough = Surface.around(function, np.stack([a.x, b.x]))
    hessians = rough.local(rough.inward(np.stack([a.x, b.x]))).hessian
    curvature = np.mean([np.diag(H) for H in hessians], axis=0) / rough.spread**2
    return Surface(function, (a.x + b.x) / 2, 1 / np.sqrt(curvature))


def _begun(surface: Surface, a: StationaryPoint, b: StationaryPoint, seed: int) -> np.ndarray:
    """Strings (n, images, D): straight, and bent to both sides of random directions across."""
    start, end = surface.inward(a.x), surface.inward(b.x)
    s = np.linspace(0, 1, IMAGES)[:, None]
    straight = start + s * (end - start)
    if len(start) == 1:
        return straight[None]
    generator, length = np.random.default_rng(seed), np.linalg.norm(end - start)
    tangent, strings = (end - start) / length, [straight]
    for share in BENT:
        across = generator.standard_normal(len(start))
        across -= across @ tangent * tangent
        bend = share * length * np.sin(np.pi * s) * across / np.linalg.norm(across)
        strings += [straight + bend, straight - bend]
    return np.stack(strings)


def _relaxed(surface: Surface, strings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Settled strings, and the largest gradient across each over the largest gradient."""
    count, _, dimension = strings.shape
    ends = surface.energies(strings[0, [0, -1]])[None]
    strings, wanted, going = strings.copy(), np.full(count, np.inf), np.ones(count, bool)
    for _ in range(MOST_ITERATIONS):
        inner = strings[going, 1:-1]
        local = surface.local(inner.reshape(-1, dimension))
        inside = np.nan_to_num(local.energy.reshape(len(inner), -1), nan=1e150, posinf=1e150)
        heights = np.concatenate(
            [np.repeat(ends[:, :1], len(inner), 0), inside, np.repeat(ends[:, 1:], len(inner), 0)], axis=1
        )
        tangents = _uphill(strings[going], heights).reshape(-1, dimension)
        spacing = np.linalg.norm(np.diff(strings[going], axis=1), axis=2).mean(axis=1)
        step, across, steepest = _across(local, tangents, np.repeat(spacing, inner.shape[1]))
        shape = inner.shape[:2]
        wanted[going] = across.reshape(shape).max(axis=1) / (steepest.reshape(shape).max(axis=1) + 1e-300)
        step = step.reshape(inner.shape)
        length = np.linalg.norm(step, axis=2)
        step *= np.minimum(1.0, spacing[:, None] / np.maximum(length, 1e-300))[:, :, None]
        moved = strings[going]
        moved[:, 1:-1] += step
        moved[:, 1:-1] += SMOOTH * np.diff(moved, 2, axis=1)
        strings[going] = [_even(string) for string in moved]
        going &= wanted > SETTLED
        if not going.any():
            break
    return strings, wanted


def _uphill(strings: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Unit tangents towards the higher neighbour: a difference of both neighbours cannot see a zigzag."""
    steps, rises = np.diff(strings, axis=1), np.diff(heights, axis=1)
    before, after, fall, rise = steps[:, :-1], steps[:, 1:], -rises[:, :-1], rises[:, 1:]
    # At a summit or in a hollow both count, the steeper side more.
    turning = fall * rise >= 0
    larger, smaller = np.maximum(abs(fall), abs(rise)), np.minimum(abs(fall), abs(rise))
    up = rise > fall
    ahead = np.where(turning, np.where(up, larger, smaller), np.where(up, 1.0, 0.0))
    back = np.where(turning, np.where(up, smaller, larger), np.where(up, 0.0, 1.0))
    largest = np.maximum(np.maximum(ahead, back), 1e-300)
    tangents = (ahead / largest)[:, :, None] * after + (back / largest)[:, :, None] * before
    return tangents / np.maximum(np.linalg.norm(tangents, axis=2, keepdims=True), 1e-300)


def _across(local: Local, tangent: np.ndarray, spacing: np.ndarray) -> tuple[np.ndarray, ...]:
    """A step downhill in the directions across, the gradient across, and the whole of it.

    The gradient's flow over a time tau, for a surface that is quadratic: -(1 - e^(-|H| tau)) / |H| g. In
    thermal widths curvatures are about one, and so is tau, unless the gradient along the string would carry
    a kink further than the next state.
    """
    finite = np.isfinite(local.gradient).all(axis=1) & np.isfinite(local.hessian).all(axis=(1, 2))
    gradient = np.where(finite[:, None], local.gradient, 0.0)
    along = np.einsum("ni,ni->n", gradient, tangent)
    tau = np.minimum(1.0, KINK * spacing / np.maximum(np.abs(along), 1e-300))[:, None]
    P = np.eye(tangent.shape[1]) - tangent[:, :, None] * tangent[:, None, :]
    g = np.einsum("nij,nj->ni", P, gradient)
    values, vectors = np.linalg.eigh(P @ np.where(finite[:, None, None], local.hessian, 0.0) @ P)
    strength = np.maximum(np.abs(values), 1e-9)
    moved = np.einsum("nij,ni->nj", vectors, g) * np.expm1(-strength * tau) / strength
    step = np.einsum("nij,nj->ni", vectors, moved)
    return step, np.linalg.norm(g, axis=1), np.linalg.norm(gradient, axis=1)


def _even(string: np.ndarray) -> np.ndarray:
    """The same curve with its states at equal distances."""
    arc = _arc(string)
    return CubicSpline(arc, string)(np.linspace(0, arc[-1], len(string)))


def _arc(string: np.ndarray) -> np.ndarray:
    steps = np.linalg.norm(np.diff(string, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-12))])


def _read(surface: Surface, string, move, a: StationaryPoint, b: StationaryPoint) -> EnergyPath:
    """Minima and saddles along a string."""
    arc = _arc(string)
    fine = np.linspace(0, arc[-1], FINER * (len(string) - 1) + 1)
    curve = CubicSpline(arc, string)
    states, tangents = curve(fine), curve(fine, 1)
    energies = surface.energies(states)
    inner = energies[1:-1]
    tops = 1 + np.flatnonzero((inner > energies[:-2]) & (inner >= energies[2:]))
    hollows = 1 + np.flatnonzero((inner < energies[:-2]) & (inner <= energies[2:]))
    near = 3 * arc[-1] / (len(string) - 1)

    def beside(points, places):
        """Those that were accepted and lie where the string had them, with their place along it."""
        return [
            (fine[place], point)
            for place, point in zip(places, points, strict=True)
            if point.result.successful and np.linalg.norm(surface.inward(point.x) - states[place]) < near
        ]

    saddles = (
        beside(ascend(surface, surface.outward(states[tops]), tangents[tops]), tops) if len(tops) else []
    )
    between = beside(relax(surface, surface.outward(states[hollows])), hollows) if len(hollows) else []
    minima = [(-1.0, a)]
    for place, point in between:
        if not any(same(point, other, surface.spread, 0.1) for other in (minima[-1][1], b)):
            minima.append((place, point))
    minima.append((np.inf, b))
    chosen = []
    for (low, _), (high, _) in pairwise(minima):
        inside = [point for place, point in saddles if low < place < high]
        top = max(inside, key=lambda point: point.energy, default=None)
        part = energies[(fine > low) & (fine < high)]
        # A lower saddle must not stand in for a summit whose search failed.
        reaches = top is not None and top.energy > part.max() - LOWER * np.ptp(part)
        chosen.append(top if reaches else None)
    result = Result()
    if move > SETTLED:
        words = f"The string did not settle: {move:.0%} of the gradient is across it."
        result = Result("not_converged", words)
    elif any(point is None for point in chosen):
        result = Result("no_saddle", "A summit of the path is no saddle of index one.")
    return EnergyPath(
        points=surface.outward(string),
        energies=surface.energies(string),
        minima=tuple(point for _, point in minima),
        saddles=tuple(point for point in chosen if point is not None),
        result=result,
    )
