"""From a drift without structure to V and W: two ways in, between which their evidence chooses."""

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
    stationary: bool,
    enough: float,
    total: int,
    seed: int,
) -> Leg:
    """V and W for pairs that the free drift made straight, then both, and sigma too, where it has a network.

    The drift is linear in V at a given W, and in W at a given V, so both problems have one solution each and
    their priors may be found at once. Which comes first matters: their product is what is seen, and V may
    bend for what is W's, or W for what is V's, on the way to a maximum from which no step leads out.

    - V first, at the linear model's W. An oscillator that turns six times as fast as it relaxes, seen on its
      way from far out, would bend a W that comes first.
    - W first, at the linear model's V, where the recording is stationary: then e^-V has the covariance of the
      recorded states. A bowl with a current that varies keeps its V; where V comes first it bends, and ends
      five times too flat beside a W that is ten times too large.

    Where both may be right, both are followed, and what the pairs make more likely is kept. Without any W at
    first, V would be the gradient that is nearest to the drift. Where states are not stationary currents are
    not orthogonal to gradients, and V is far off.

    Args:
        candidates: The models.
        leg: Which networks there are, and their priors.
        present: Its model.
        many: Pairs of one component's problem.
        few: Of all together.
        rim: Where V must not fall.
        stationary: Whether the recording is.
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

    orders = (order, order[::-1]) if stationary else (order,)
    return max(map(followed, dict.fromkeys(orders)), key=lambda way: way[0])[1]


def _referring(candidates: Candidates, present: ComponentDynamics):
    """The model with a W that refers to its own V, and the coefficients of that V."""
    weights = Coefficients.of(present)
    reference = weights.vector[weights.component == COMPONENTS.index("potential")]
    return Coefficients.of(candidates.referring(present, reference)), reference
