"""Models without the networks whose units have all been switched off."""

from dataclasses import replace

from ...dynamics import ComponentDynamics
from ...models import Coefficients
from ...models.coefficients import COMPONENTS
from ..solvers.local_posterior import SWITCHED_OFF_RATIO
from ..solvers.posterior import Solution
from .candidates import Candidates
from .stage import NO_NOISE_TEST, Stage


def pruned_stage(
    candidates: Candidates, present: ComponentDynamics, stage: Stage, solution: Solution
) -> tuple[Stage, Solution]:
    """A stage and its solution without the networks of sigma and W that are switched off."""
    coefficients = Coefficients.of(present)
    networks = needed_networks(coefficients, solution, stage.networks)
    if networks == stage.networks:
        return stage, solution
    smaller = pruned_coefficients(candidates, coefficients, solution, stage.networks)
    off = tuple(each for each in stage.networks if each not in networks)
    solution = replace(solution.without(coefficients, off), vector=smaller.vector)
    stage = replace(stage, networks=networks, vector=smaller.vector, precision=solution.precision)
    # What looked like varying noise was a drift that was still rough.
    return (stage if "diffusion" in networks else stage.with_noise_test(NO_NOISE_TEST)), solution


def pruned_coefficients(
    candidates: Candidates, coefficients: Coefficients, solution: Solution, networks: tuple[str, ...]
) -> Coefficients:
    """The same model without what is switched off, which takes time in every pass."""
    needed = needed_networks(coefficients, solution, networks)
    present = coefficients.dynamics(solution.vector)
    return Coefficients.of(present if needed == networks else candidates.with_networks(present, needed))


def needed_networks(
    coefficients: Coefficients, solution: Solution, networks: tuple[str, ...]
) -> tuple[str, ...]:
    """V's network, and those of sigma and W of which some unit is not switched off; one at least."""

    def in_use(name: str) -> bool:
        own = coefficients.group_owner == COMPONENTS.index(name)
        limit = SWITCHED_OFF_RATIO * coefficients.usual_precision[own]
        return bool((solution.precision[own] < limit).any())

    return tuple(each for each in networks if each == "potential" or in_use(each)) or networks[-1:]
