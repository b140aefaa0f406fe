"""The default way: networks with drawn units, fitted by Gauss-Newton steps where the data call for them."""

from dataclasses import replace

from ..components import Absent
from ..likelihood import AbstractGaussian
from ..models import Architecture, Coefficients, Ensemble, Model
from .checkpoint import CheckpointFile
from .checks.checks import checked
from .checks.correction import rate_correction
from .checks.density import density_misfit
from .checks.stationarity import recorded_states
from .checks.verdicts import Checks, line
from .driver import drive
from .ensemble import draw_ensemble
from .problem import Problem
from .records import Fit
from .search.candidates import Candidates
from .search.search import Search
from .solvers.posterior import Solution
from .solvers.scores import mean_loss
from .undetected import rate_worth, undetected_nats


def fit_by_search(
    problem: Problem, architecture: Architecture, *, file: CheckpointFile | None, resume: bool, progress: bool
) -> Fit:
    """Drawn networks, where the data call for them."""
    candidates = Candidates(architecture, problem.started, problem.linear, problem.pairs)
    test = problem.held_out(problem.test)
    search = Search(
        candidates, problem.likelihood, problem.sample(), test,
        stationary=problem.stationary, seed=problem.seed,
    )  # fmt: skip
    stage, stopped = drive(search, file=file, resume=resume, progress=progress)
    stage = search.unstarted() if stage is None else stage
    solution = None if stopped else stage.solution
    if solution is None:
        assert stopped is not None
        model = problem.model(search.dynamics_of(stage), candidates.specification(stage.networks))
        ensemble = Ensemble.none(model)
        likelihood, result, tests = search.likelihood_of(stage), stopped, stage.tests
    else:
        found = search.found(stage, solution)
        likelihood, result, tests, solution = found.likelihood, found.result, found.tests, found.solution
        model, with_networks = problem.model(found.dynamics, found.architecture), None
        if found.with_networks is not None:
            full, of_full = found.with_networks
            with_networks = (problem.model(full.dynamics(full.vector), architecture), full, of_full)
        ensemble = draw_ensemble(
            model, found.coefficients, solution, recorded_states(problem.data),
            seed=problem.seed, with_networks=with_networks,
        )  # fmt: skip
    own = Coefficients.of(model.unit)
    fit = Fit(
        model=model,
        history=stage.history,
        result=result,
        test_loss=mean_loss(own, own.vector, likelihood, test),
        kept=stage.history[-1],
        likelihood=likelihood,
        test=problem.test,
        total_time=problem.train.total_time,
        ensemble=ensemble,
        start=problem.linear.result,
        refined=model,
        tests=tests,
        checks=Checks(),
    )
    return with_checks(fit, problem, architecture, solution)


def with_checks(fit: Fit, problem: Problem, architecture: Architecture, solution: Solution | None) -> Fit:
    """The same fit with what the data say of its assumptions, and what that makes of the rate's error."""
    if not len(fit.ensemble):
        return replace(fit, ensemble=replace(fit.ensemble, result=fit.result))
    ensemble = replace(
        fit.ensemble, recording_is_stationary=problem.stationary, observed=problem.data.total_time
    )
    checks = checked(ensemble.center, fit.likelihood, problem.test, problem.pairs, solution)
    if ensemble.stationary and checks.lines:
        checks = checks.beside(line("density", *density_misfit(ensemble, problem.data)))
    undetected, correction = 0.0, (0.0, 0.0)
    if _has_nonlinear_current(ensemble.center, architecture):
        undetected = rate_worth(undetected_nats(problem.data.dimension), problem.train.total_time)
        if not ensemble.stationary and isinstance(fit.likelihood, AbstractGaussian):
            correction = rate_correction(
                ensemble.center, fit.likelihood, problem.pairs, ensemble.recorded, seed=problem.seed
            )
    result = checks.result if fit.result.successful else fit.result
    ensemble = replace(
        ensemble,
        result=result,
        hidden=checks.hidden,
        undetected=undetected,
        noise_error=checks.noise_error,
        correction=correction,
    )
    return replace(fit, ensemble=ensemble, result=result, checks=checks)


def _has_nonlinear_current(center: Model, architecture: Architecture) -> bool:
    """Where neither drift nor noise is nonlinear, a current that is so alone is not looked for."""
    may_have = not isinstance(architecture.circulation, Absent) and center.dimension > 1
    return may_have and center.architecture != architecture.plain
