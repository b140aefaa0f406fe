"""Newton's iteration to a stationary point, and the judgement of what was reached."""

import numpy as np

from .._types import Result
from .records import StationaryPoint
from .surface import Local, Surface

# Lengths in units of the coordinates' spread.
APART = 0.01
CONVERGED = 1e-6
LONGEST_STEP = 0.1
MOST_STEPS = 60
# An eigenvalue below this share of what Hessians are usually like has no sign.
VANISHING = 1e-6
INDEX_NAMES = {0: "a minimum", 1: "a saddle of index one"}


def newton_steps(local: Local, size: float, *, descend: bool) -> np.ndarray:
    """-H^-1 g; with |H| in its place where it shall go downhill in every direction."""
    values, vectors = np.linalg.eigh(_finite(local.hessian))
    strength = np.maximum(np.abs(values), 1e-12 * size)
    signed = strength if descend else np.where(values < 0, -strength, strength)
    along = np.einsum("nij,ni->nj", vectors, _finite(local.gradient)) / signed
    return -np.einsum("nij,nj->ni", vectors, along)


def polished(surface: Surface, y: np.ndarray, size: float, *, descend: bool) -> tuple[np.ndarray, Local]:
    """The stationary points next to y, with what the surface is like there."""
    y = np.array(y, np.float64)
    going = np.asarray(np.isfinite(y).all(axis=1))
    for _ in range(MOST_STEPS):
        if not going.any():
            break
        some = y[going]
        local = surface.local(some)
        step = newton_steps(local, size, descend=descend)
        length = np.linalg.norm(step, axis=1)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1e-300))[:, None]
        if descend:
            step = lowered(surface, some, local.energy, step)
        y[going] = some + step
        going[going] = (length > 1e-12) & np.isfinite(step).all(axis=1)
    return y, surface.local(np.nan_to_num(y))


def next_to(surface: Surface, state: np.ndarray, *, index: int) -> StationaryPoint:
    """The minimum (index 0) or saddle (index 1) to which Newton's iteration leads from one state."""
    y = surface.inward(state)[None]
    size = typical_size(surface.local(y))
    reached, local = polished(surface, y, size, descend=index == 0)
    return judged(surface, reached[0], Local(*(part[0] for part in local)), size, index=index)


def judged(surface: Surface, y: np.ndarray, local: Local, size: float, *, index: int) -> StationaryPoint:
    """The record of one point, accepted only with a vanishing gradient and the index that was sought."""
    with np.errstate(all="ignore"):
        user = Local(
            local.energy,
            local.gradient / surface.spread,
            local.hessian / np.outer(surface.spread, surface.spread),
        )
    finite = all(np.isfinite(part).all() for part in (y, *local, *user))
    if not finite:
        blank = np.full(len(y), np.nan)
        lost = Result("not_finite", "The search left the region where the potential is finite.")
        return StationaryPoint(surface.outward(y), float(local.energy), blank, -1, np.nan, lost)
    values = np.linalg.eigvalsh(local.hessian)
    single = Local(*(np.asarray(part)[None] for part in local))
    step = float(np.linalg.norm(newton_steps(single, size, descend=False)))
    found = int((values < -VANISHING * size).sum())
    result = Result()
    if not step < CONVERGED:
        result = Result("not_converged", f"The gradient did not vanish: a Newton step would go {step:.1e}.")
    elif np.abs(values).min() < VANISHING * size:
        result = Result(
            "degenerate", "An eigenvalue of the Hessian vanishes: the point has no definite index."
        )
    elif found != index:
        result = Result(
            "wrong_index", f"{found} eigenvalues of the Hessian are negative: not {INDEX_NAMES[index]}."
        )
    return StationaryPoint(
        x=surface.outward(y),
        energy=float(local.energy),
        eigenvalues=np.linalg.eigvalsh(user.hessian),
        index=found,
        gradient_norm=float(np.linalg.norm(user.gradient)),
        result=result,
    )


def typical_size(local: Local) -> float:
    """What Hessians are usually like: the median of their largest eigenvalues."""
    sizes = np.abs(np.linalg.eigvalsh(_finite(local.hessian))).max(axis=1)
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


def same(one: StationaryPoint, other: StationaryPoint, spread: np.ndarray, apart: float = APART) -> bool:
    """Whether two points are one."""
    return bool(np.abs((one.x - other.x) / spread).max() < apart)


def distinct(points: list[StationaryPoint], spread: np.ndarray) -> list[StationaryPoint]:
    """Each once, lowest first."""
    kept: list[StationaryPoint] = []
    for point in sorted(points, key=lambda point: point.energy):
        if not any(same(point, other, spread) for other in kept):
            kept.append(point)
    return kept


def lowered(surface: Surface, y: np.ndarray, energy: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The step, shortened until it does not climb."""
    for _ in range(4):
        climbs = ~(surface.energies(y + step) <= energy + 1e-9 * np.abs(energy) + 1e-12)
        if not climbs.any():
            break
        step = np.where(climbs[:, None], step / 4, step)
    return step


def _finite(array: np.ndarray) -> np.ndarray:
    return np.nan_to_num(array, nan=0.0, posinf=1e150, neginf=-1e150)
