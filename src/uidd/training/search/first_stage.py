"""From a drift without structure to V and W: two orders, between which their evidence chooses."""

from dataclasses import replace

import numpy as np

from ...dynamics import ComponentDynamics
from ...likelihood import EulerMaruyama
from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from ..solvers.gauss_newton import maximise
from ..solvers.outside_barrier import OutsideBarrier
from ..solvers.posterior import Posterior, Solution
from ..solvers.sample import Sample
from .candidates import Candidates
from .stage import Stage


def first_stage(
    candidates: Candidates,
    stage: Stage,
    present: ComponentDynamics,
    many: Sample,
    few: Sample,
    outside: OutsideBarrier,
    *,
    stationary: bool,
    enough: float,
    total: int,
    seed: int,
) -> Stage:
    """V and W for the Euler pairs of the free drift, then both, and sigma too, where it has a network.

    The drift is linear in V at a given W, and in W at a given V, so both problems have one solution each and
    their priors may be found at once. Which comes first matters: their product is what is seen, and V may
    take up what is W's, or W what is V's, on the way to a maximum from which no step leads out.

    - V first, at the linear model's W. An oscillator that turns six times as fast as it relaxes, seen on its
      way from far out, would give its curvature to a W that comes first.
    - W first, at the linear model's V, where the recording is stationary: then e^-V has the covariance of the
      recorded states. A bowl with a current that varies keeps its V; where V comes first it takes up the
      current, and ends five times too flat beside a W that is ten times too large.

    Where both may be right, both are followed, and what the pairs make more likely is kept. Without any W at
    first, V would be the gradient that is nearest to the drift. Where states are not stationary currents are
    not orthogonal to gradients, and V is far off.

    Args:
        candidates: The models.
        stage: Which networks there are, and their priors.
        present: Its model.
        many: Pairs of one component's problem.
        few: Of all together.
        outside: Where V must not fall.
        stationary: Whether the recording is.
        enough: Nats that a step may leave.
        total: Of pairs.
        seed: Of the pairs that tell the information.
    """
    order = tuple(name for name in stage.networks if name != "diffusion")
    together = COMPONENTS if "diffusion" in stage.networks else order

    def posterior_of(coefficients: Coefficients, data: Sample) -> Posterior:
        return Posterior(coefficients, EulerMaruyama(), data, outside, total, seed)

    def followed(order: tuple[str, ...]) -> tuple[float, Stage]:
        coefficients, reference = _referring(candidates, present)
        solution = Solution.start(coefficients, stage.precision)
        for moving, data, steps in [*(((name,), many, 2) for name in order), (together, few, 12)]:
            posterior = posterior_of(coefficients, data)
            solution = maximise(posterior, solution, most_steps=steps, enough=enough, moving=moving)
            if moving == ("potential",):
                coefficients, reference = _referring(candidates, coefficients.dynamics(solution.vector))
        found = {"vector": solution.vector, "precision": solution.precision, "reference": reference}
        evidence = posterior_of(coefficients, few).log_evidence(solution)
        return evidence, replace(stage, name="drift", **found)

    orders = (order, order[::-1]) if stationary else (order,)
    return max(map(followed, dict.fromkeys(orders)), key=lambda way: way[0])[1]


def _referring(candidates: Candidates, present: ComponentDynamics) -> tuple[Coefficients, np.ndarray]:
    """The model with a W that refers to its own V, and the coefficients of that V."""
    coefficients = Coefficients.of(present)
    reference = coefficients.vector[coefficients.component == COMPONENTS.index("potential")]
    return Coefficients.of(candidates.referring(present, reference)), reference
