"""Models whose hidden layers have to be trained: all weights by Adam."""

import jax.numpy as jnp
import numpy as np

from .._checks import fail
from ..dynamics import AbstractEquation
from ..likelihood import MeanIncrement, choose_steps
from ..models import Architecture, Coefficients, Ensemble
from .by_search import with_checks
from .checkpoint import CheckpointFile
from .checks.stationarity import recorded_states
from .checks.verdicts import Checks
from .driver import drive
from .ensemble import draw_ensemble
from .epochs import Epochs
from .history import best_epoch, is_better
from .objectives import LikelihoodObjective
from .problem import Problem
from .records import Fit, M, Trained
from .solvers.adam import Adam, Examples
from .solvers.outside_barrier import OutsideBarrier
from .solvers.plan import Plan
from .solvers.posterior import LOOKED_AT, Posterior
from .solvers.scores import loss_of, mean_loss
from .trainable import Trainable


def fit_from_random_weights(
    problem: Problem,
    architecture: Trainable[M],
    plan: Plan,
    *,
    file: CheckpointFile | None,
    resume: bool,
    progress: bool,
) -> Trained[M]:
    """A model other than ours, from wherever the seed puts its weights."""
    build_key, _, _ = problem.keys
    dynamics = architecture.build(problem.data.dimension, key=build_key)
    noise = jnp.asarray(problem.linear.diffusion, jnp.result_type(float))
    likelihood = architecture.likelihood(noise) if problem.likelihood is None else problem.likelihood
    if not isinstance(dynamics, AbstractEquation) and not isinstance(likelihood, MeanIncrement):
        name = type(architecture).__name__
        fail("likelihood", f"left out, or a MeanIncrement: {name} has no noise", repr(likelihood))
    run, epoch, stopped = _run(problem, dynamics, likelihood, plan, file, resume, progress)
    losses = run.adam.losses(epoch.best, run.frozen, Examples.of(problem.held_out(problem.test).pairs))
    return Trained(
        model=architecture.in_user_units(run.trained(epoch), problem.scaling),
        history=epoch.history,
        result=stopped or run.result(epoch),
        test_loss=loss_of(-losses),
        kept=best_epoch(epoch.history[1:] or epoch.history),
        likelihood=likelihood,
        test=problem.test,
        total_time=problem.train.total_time,
    )


def fit_by_adam(
    problem: Problem,
    architecture: Architecture,
    plan: Plan,
    *,
    file: CheckpointFile | None,
    resume: bool,
    progress: bool,
) -> Fit:
    """The linear start stays unless held-out data gain by three standard errors."""
    dynamics, plain = (problem.started(each, problem.linear) for each in (architecture, architecture.plain))
    likelihood, pairs = problem.likelihood, problem.pairs
    if likelihood is None:
        likelihood = choose_steps(plain, pairs.start, pairs.dt, len(pairs.dt)).likelihood
    run, epoch, stopped = _run(problem, dynamics, likelihood, plan, file, resume, progress)
    result, left = stopped or run.result(epoch), is_better(run.gain(epoch.best))
    refined = problem.model(run.trained(epoch), architecture)
    model = refined if left else problem.model(plain, architecture.plain)
    own, solution = Coefficients.of(model.unit), None
    if result.code in ("interrupted", "not_finite"):
        ensemble = Ensemble.none(model)
    else:
        every, outside = problem.sample(), OutsideBarrier.of(pairs.start)
        some = every.some(LOOKED_AT, np.random.default_rng(problem.seed))
        posterior = Posterior(own, likelihood, some, outside, len(every), problem.seed)
        solution = posterior.solution_here()
        ensemble = draw_ensemble(model, own, solution, recorded_states(problem.data), seed=problem.seed)
    fit = Fit(
        model=model,
        history=epoch.history,
        result=result,
        test_loss=mean_loss(own, own.vector, likelihood, problem.held_out(problem.test)),
        kept=best_epoch(epoch.history[1:]) if left else epoch.history[0],
        likelihood=likelihood,
        test=problem.test,
        total_time=problem.train.total_time,
        ensemble=ensemble,
        start=problem.linear.result,
        refined=refined,
        tests=(),
        checks=Checks(),
    )
    return with_checks(fit, problem, architecture, solution)


def _run(problem: Problem, dynamics, likelihood, plan: Plan, file, resume: bool, progress: bool):
    """The epochs, the last of them, and whether they were stopped."""
    *_, key = problem.keys
    examples, held_out = map(Examples.of, (problem.pairs, problem.held_out(problem.validation).pairs))
    run = Epochs(Adam(LikelihoodObjective(likelihood), plan), dynamics, examples, held_out, key)
    epoch, stopped = drive(run, file=file, resume=resume, progress=progress)
    return run, run.begin() if epoch is None else epoch, stopped
