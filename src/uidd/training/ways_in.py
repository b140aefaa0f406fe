"""From a drift without structure to V and W: two ways in, between which the evidence chooses."""

from dataclasses import replace

from ..dynamics import ComponentDynamics
from ..likelihood import EulerMaruyama
from ..models import Coefficients
from ..models.coefficients import COMPONENTS
from .candidates import Candidates
from .gauss_newton import carried_over, climb, log_evidence
from .leg import Leg
from .rim import Rim
from .sample import Sample


def way_in(
    candidates: Candidates,
    leg: Leg,
    present: ComponentDynamics,
    many: Sample,
    few: Sample,
    rim: Rim,
    *,
    enough: float,
    total: int,
    seed: int,
) -> Leg:
    """V and W for pairs that the free drift made straight, then both, and sigma too, where it has a network.

    The drift is linear in V at a given W, and in W at a given V, so both problems have one solution each and
    their priors may be found at once. Which comes first matters: their product is what is seen, and V may
    bend for what is W's, or W for what is V's, on the way to a maximum from which no step leads out. So both
    orders are followed, and what the pairs make more likely is kept.

    - V first, at the linear model's W. An oscillator that turns six times as fast as it relaxes, seen on its
      way from far out, has its V bent by a W that comes first.
    - W first, at the linear model's V. A bowl with a current that varies keeps its V; where V comes first it
      bends, and ends five times too flat beside a W that is ten times too large.

    Without any W at first, V would be the gradient that is nearest to the drift. Where states are not
    stationary currents are not orthogonal to gradients, and V is far off.

    Args:
        candidates: The models.
        leg: Which networks there are, and their priors.
        present: Its model.
        many: Pairs of one component's problem.
        few: Of all together.
        rim: Where V must not fall.
        enough: Nats that a step may leave.
        total: Of pairs.
        seed: Of the pairs that tell the information.
    """
    order = tuple(name for name in leg.on if name != "diffusion")
    together = COMPONENTS if "diffusion" in leg.on else order

    def followed(order: tuple[str, ...]) -> tuple[float, Leg]:
        weights, reference = _referring(candidates, present)
        solution = carried_over(weights, leg.precision)
        for moving, data, steps in [*(((name,), many, 2) for name in order), (together, few, 12)]:
            solution = climb(
                weights,
                solution,
                EulerMaruyama(),
                data,
                rim,
                most_steps=steps,
                enough=enough,
                seed=seed,
                part=len(data) / total,
                moving=moving,
            )
            if moving == ("potential",):
                weights, reference = _referring(candidates, weights.dynamics(solution.vector))
        found = {"vector": solution.vector, "precision": solution.precision, "reference": reference}
        return log_evidence(weights, solution, few, rim), replace(leg, name="drift", **found)

    ways = [followed(each) for each in dict.fromkeys((order, order[::-1]))]
    return max(ways, key=lambda way: way[0])[1]


def _referring(candidates: Candidates, present: ComponentDynamics):
    """The model with a W that refers to its own V, and the coefficients of that V."""
    weights = Coefficients.of(present)
    reference = weights.vector[weights.component == COMPONENTS.index("potential")]
    return Coefficients.of(candidates.referring(present, reference)), reference
