"""Least squares by SGLD: a linear force, and a noise that grows with the residuals."""

from typing import Any

import numpy as np

from ..._checks import fail, numbers, one_of
from .forces import residual_gradient
from .gradients import StandardNormal, sgld
from .relations import four_term_relations
from .sampler import Sampler

SETTINGS = ("published", "paper")


def sgld_least_squares(
    batch_size: int | None,
    setting: str = "published",
    *,
    matrix: Any = None,
    replacement: bool = True,
    problem_seed: int = 0,
) -> Sampler:
    """min |A x - v|^2 / 2 with A = `relat4` + N(0, 1), v = A x* + noise: 66 data, 12 unknowns.

    `published`, what the published figures were made with: x' = x - .01 * (batch mean of the gradient)
    + N(0, .1 * .01), x* = 2 + 6 U(0, 1), noise of v with deviation 2, recorded as z = x / 5 - 1. In z this is
    the same problem with v / 5 - A 1 in place of v and noise of variance .1 / 25 per unit time.
    `paper`, the equation in the text: x' = x - eta (n / b) sum of the gradients + N(0, 2 eta); the text names
    no eta, and ours, .01 / n, makes the same drift an iteration.

    Args:
        batch_size: Data in a batch; None takes all.
        setting: One of the two.
        matrix: Another A, before the noise; see `read_matrix` for files.
        replacement: Whether a datum can be in a batch twice.
        problem_seed: Of A's noise, x* and v.
    """
    A = four_term_relations() if matrix is None else numbers("matrix", matrix, "an array (n, D)")
    if A.ndim != 2 or not A.size or not np.isfinite(A).all():
        fail("matrix", "finite numbers of shape (n, D)", f"shape {A.shape}")
    generator = np.random.default_rng(problem_seed)
    A = A + generator.normal(size=A.shape)
    n, D = A.shape
    v = A @ (2 + 6 * generator.random(D)) + 2 * generator.normal(size=n)
    if one_of("setting", setting, SETTINGS) == "published":
        problem, step, noise, reduction = (A, v / 5 - A.sum(axis=1)), 0.01, 0.1 / 25, "mean"
        start = StandardNormal(D, 0.0, 0.6)
    else:
        problem, step, noise, reduction = (A, v), 0.01 / n, 2.0, "sum"
        start = StandardNormal(D, 5.0, 3.0)
    return sgld(
        residual_gradient,
        problem,
        batch_size,
        step,
        noise,
        reduction=reduction,
        start=start,
        replacement=replacement,
    )
