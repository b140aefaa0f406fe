"""Gauss-Newton steps on pairs as Euler's scheme would have made them, made anew after every few steps."""

from collections.abc import Callable
from dataclasses import replace

from ...likelihood import AbstractGaussian, AbstractLikelihood, EulerMaruyama
from ...models import Coefficients
from ..solvers.gauss_newton import maximise
from ..solvers.posterior import Posterior, Solution
from ..solvers.sample import Sample
from ..solvers.scores import whitened

Scheme = tuple[int, int]
# Of making the Euler pairs anew; each leaves a part of the way that is as small as an interval is short.
ROUNDS = 6


def iterated(
    posterior: Callable[[AbstractLikelihood, Sample], Posterior],
    solution: Solution,
    data: Sample,
    scheme: Scheme | None,
    *,
    likelihood: Callable[[Scheme | None], AbstractLikelihood],
    pruned: Callable[[Solution], Coefficients],
    finer: Callable[[Solution, Scheme], Scheme],
    most_steps: int,
    enough: float,
) -> tuple[Solution, Scheme | None]:
    """The maximum, and the scheme that it needs.

    A Gaussian likelihood gives the noise of every pair, and Euler pairs of that noise have the same solution
    and a tenth of the cost. They hold something of the model that made them, the more the farther frames are
    apart: what suits them need not suit the data. So a solution whose log-density of the recorded pairs is
    lower than that of the best one before is given up, for one half way back.

    Args:
        posterior: Of a likelihood and pairs.
        solution: Where from.
        data: Recorded pairs.
        scheme: Steps and order of the likelihood; None if it was given.
        likelihood: Of a scheme.
        pruned: The model of a solution without what is switched off.
        finer: The scheme that a solution needs, none coarser than the present one.
        most_steps: In a round.
        enough: Nats that may be left.
    """
    left, best = float("inf"), None
    for turn in range(ROUNDS + 1):
        before, was = solution.vector, scheme
        present = likelihood(scheme)
        gaussian = isinstance(present, AbstractGaussian)
        pairs, height = data, 0.0
        if isinstance(present, AbstractGaussian):
            small = pruned(solution)
            made = whitened(small, small.vector, present, data)
            here = posterior(present, data)
            pairs, height = made.euler_pairs, made.height - here.outside.cost(here.coefficients, before)
            if best is not None:
                of_prior = _rise_of_prior(here.coefficients, solution, best[0])
                if height + of_prior < best[1] - enough:
                    solution = replace(solution, vector=(before + best[0].vector) / 2)
                    continue
        if turn == ROUNDS:
            break
        climbed = posterior(EulerMaruyama() if gaussian else present, pairs)
        solution = maximise(climbed, solution, most_steps=most_steps, enough=enough)
        best = replace(solution, vector=before), height
        move = solution.vector - before
        left = max(float(move @ solution.information @ move) / 2, solution.expected_gain)
        if scheme is not None and left < enough:
            scheme = finer(solution, scheme)
        if not gaussian or (left < enough and scheme == was):
            break
    else:
        assert best is not None
        solution = best[0]
    if isinstance(likelihood(scheme), AbstractGaussian):
        solution = replace(solution, expected_gain=left)
    return solution, scheme


def _rise_of_prior(coefficients: Coefficients, now: Solution, before: Solution) -> float:
    """By how much less the priors cost, in nats."""
    L = now.prior(coefficients) * coefficients.penalised
    return float(before.vector @ (L * before.vector) - now.vector @ (L * now.vector)) / 2
