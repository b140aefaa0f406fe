"""The compared models through `fit`, on small data with a known answer."""

import re
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import uidd
from uidd.baselines import (
    GFINN,
    BaselineModel,
    Onsager,
    OnsagerNet,
    StatPINNs,
    StochasticBaselineModel,
    StochasticOnsagerNet,
)
from uidd.components import Constant, Drawn, SumOfSquares
from uidd.likelihood import EulerMaruyama, MeanIncrement
from uidd.systems import Linear
from uidd.training import Fit, Trained
from uidd.training.progress import TrainingProgress

MODELS = {
    "Onsager": Onsager(),
    "OnsagerNet": OnsagerNet(),
    "S-OnsagerNet": StochasticOnsagerNet(),
    "GFINN": GFINN(),
}
SYSTEM = Linear(1.0)
PLAN = uidd.Plan(steps=200, batch=512, learning_rate=1e-2, steps_per_epoch=50)


@pytest.fixture(scope="module")
def data():
    """Stationary, so that all of it lies around the fixed point, where the solutions spiral in."""
    return SYSTEM.simulate(200, 51, scheme="exact", stationary=True)


@pytest.fixture(scope="module")
def trained(data):
    """Each model and seed once."""

    @cache
    def train(name, seed=0):
        return uidd.fit(data, architecture=MODELS[name], seed=seed, plan=PLAN, progress=False)

    return train


def stationary_states(count):
    return np.random.default_rng(0).multivariate_normal(np.zeros(2), SYSTEM.covariance, count)


def error_of_the_drift(model, quickly):
    """Root mean square over stationary states, relative to the drift."""
    z = stationary_states(500)
    f, truth = np.asarray(quickly(jax.vmap(model.drift))(z)), z @ SYSTEM.drift_matrix.T
    return float(np.sqrt(np.mean((f - truth) ** 2) / np.mean(truth**2)))


def same_weights(a, b):
    leaves = zip(jax.tree.leaves(a.model), jax.tree.leaves(b.model), strict=True)
    return all(np.array_equal(x, y) for x, y in leaves)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_baseline_gives_a_record_like_ours(name, trained, quickly):
    fit, noisy = trained(name), name == "S-OnsagerNet"
    assert type(fit) is Trained and not isinstance(fit, Fit)
    assert type(fit.model) is (StochasticBaselineModel if noisy else BaselineModel)
    assert isinstance(fit.likelihood, EulerMaruyama if noisy else MeanIncrement)
    names = ("potential", "drift", "irreversible_drift", "dissipation", "local_entropy_production")
    found = quickly(jax.vmap(lambda z: [getattr(fit.model, name)(z) for name in names]))(
        stationary_states(20)
    )
    assert all(np.isfinite(value).all() for value in found)
    assert fit.result.code in ("ok", "still_improving")
    assert fit.kept.held_out < fit.history[0].held_out
    assert fit.kept.held_out == min(record.held_out for record in fit.history)
    assert [record.epoch for record in fit.history] == list(range(5))
    assert np.isfinite(fit.test_loss) and fit.seconds > 0


@pytest.mark.slow
def test_the_test_trajectories_took_no_part(data, trained):
    """A path is known by its first state, which no other path shares."""
    train, validation, test = ({tuple(s[0]) for s in part.states} for part in data.split(seed=0))
    held_out = {tuple(s[0]) for s in trained("OnsagerNet").test.states}
    assert held_out == test and not held_out & (train | validation)
    assert len(train) + len(validation) + len(test) == 200
    np.testing.assert_allclose(trained("OnsagerNet").total_time, len(train) * 0.5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_bit_for_bit_and_another_another(data, trained):
    again = uidd.fit(data, architecture=OnsagerNet(), seed=0, plan=PLAN, progress=False)
    first = trained("OnsagerNet")
    assert same_weights(again, first) and again.history == first.history
    assert again.test_loss == first.test_loss
    assert not same_weights(trained("OnsagerNet", 1), first)


@pytest.mark.slow
def test_the_snippet_of_the_guide_gives_this_model(trained, capsys):
    """It is the fit above, written as a user would."""
    guide = (Path(__file__).resolve().parents[2] / "docs" / "guide.md").read_text()
    section = guide.split("## Comparing with other models")[1]
    names = {}
    exec(re.search(r"```python\n(.*?)```", section, re.S)[1], names)
    assert capsys.readouterr().out.count("\n") == 1
    assert same_weights(names["trained"], trained("OnsagerNet"))


@pytest.mark.slow
def test_onsager_net_learns_a_spiral_that_onsager_cannot(trained, quickly):
    """The eigenvalues of the true drift are -.78 +- 2.24 i; those of -M grad V at a fixed point are real.

    Over the seeds 0 to 4 the error of OnsagerNet was .37, .37, .37, .60 and .37 of Onsager's (.44 to .64).
    """
    with_W, without = (error_of_the_drift(trained(name).model, quickly) for name in ("OnsagerNet", "Onsager"))
    assert with_W < 0.75 * without < 0.75


@pytest.mark.slow
def test_s_onsager_net_is_simulated_by_its_own_drift_and_noise(trained):
    """One Euler step from one state: increments of mean f dt and covariance sigma sigma^T dt, to five
    standard errors; the entries of a covariance C of n draws have (C_ii C_jj + C_ij^2) / n.
    """
    model, start, dt, count = trained("S-OnsagerNet").model, np.array([0.1, -0.2]), 1e-3, 4000
    paths = uidd.simulate(model, np.tile(start, (count, 1)), [0.0, dt], seed=0, step=dt)
    assert paths.result.successful and paths.shape == (count, 2, 2)
    increments = paths[:, 1] - start
    sigma = np.asarray(model.diffusion(start))
    C, mean = sigma @ sigma.T * dt, np.asarray(model.drift(start)) * dt
    assert (np.abs(increments.mean(axis=0) - mean) < 5 * np.sqrt(np.diag(C) / count)).all()
    error = np.sqrt((np.outer(np.diag(C), np.diag(C)) + C**2) / count)
    assert (np.abs(np.cov(increments.T) - C) < 5 * error).all()


@pytest.mark.slow
def test_stat_pinns_finds_equilibrium_whatever_the_data_say(data):
    """The rate of the system is 47. Sum-of-squares networks under Adam, which take seconds."""
    equilibrium = StatPINNs(potential=SumOfSquares(8, (16,)), diffusion=Constant("full"))
    settings = {"likelihood": EulerMaruyama(), "plan": PLAN, "progress": False}
    fit = uidd.fit(data, architecture=equilibrium, **settings)
    assert type(fit) is Fit and type(fit.model) is uidd.Model
    z = stationary_states(20)
    assert not jax.vmap(fit.model.circulation)(z).any()
    assert not jax.vmap(fit.model.irreversible_drift)(z).any()
    assert uidd.entropy_production_rate(fit.model, z).rate == 0
    assert all(not jax.vmap(model.circulation)(z[:2]).any() for model in fit.models[:2])


@pytest.mark.slow
def test_stat_pinns_learns_an_equilibrium():
    """Without its drive the linear system is in detailed balance: V = z^T S z / 2.

    With C = S^-1 = 1 after whitening, an error E of S changes the drift by -M E z, which over the time T
    costs T Tr(E M E) / 4 nats: that is E^T F E / 2 with the information F, and F^-1 has the squared errors.
    Data and density are Euler's, for which there is little to compile; at this dt C is right to 8 %.
    """
    system = Linear(0.0)
    data = system.simulate(200, 51, 0.1, scheme="euler", stationary=True)
    fit = uidd.fit(data, architecture=StatPINNs(), likelihood=EulerMaruyama(), progress=False)
    assert fit.result.successful
    root = np.linalg.cholesky(system.covariance)
    M = np.linalg.solve(root, np.linalg.solve(root, system.dissipation_matrix).T)
    directions = np.array([[[1.0, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]])
    F = fit.total_time / 2 * np.einsum("aij,jk,bki->ab", directions, M, directions)
    errors = np.sqrt(np.diag(np.linalg.inv((F + F.T) / 2)))
    H = np.asarray(jax.hessian(fit.model.potential)(jnp.zeros(2)))
    found = (root.T @ H @ root)[np.triu_indices(2)]
    assert errors.max() < 0.1  # so that five of them tell V from none
    assert (np.abs(found - [1, 0, 1]) < 5 * errors).all()


def test_a_circulation_for_a_baseline_is_refused_in_one_sentence(data):
    with pytest.raises(uidd.InputError, match="`circulation` must be left out for a baseline, which has its"):
        uidd.fit(data, architecture=OnsagerNet(), circulation=Drawn())


@pytest.mark.parametrize("likelihood", [EulerMaruyama(), uidd.Cubature(), uidd.DynGMA()], ids=str)
def test_a_density_that_needs_noise_is_refused_for_a_model_without_it(likelihood, data):
    with pytest.raises(uidd.InputError, match=r"`likelihood` must be left out, .* OnsagerNet has no"):
        uidd.fit(data, architecture=OnsagerNet(), likelihood=likelihood, progress=False)


@pytest.mark.slow
def test_an_interrupted_baseline_resumes_bit_for_bit(data, trained, tmp_path, monkeypatch):
    settings = {"architecture": OnsagerNet(), "seed": 0, "plan": PLAN, "progress": False}
    settings["checkpoint"] = tmp_path / "c.uidd"
    original, calls = TrainingProgress.show, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "show", interrupted)
        first = uidd.fit(data, **settings)
    assert first.result.code == "interrupted" and len(first.history) == 3
    with pytest.raises(uidd.InputError, match="belongs to other data or settings"):
        uidd.fit(data, **{**settings, "architecture": Onsager()}, resume=True)
    second, unbroken = uidd.fit(data, **settings, resume=True), trained("OnsagerNet")
    assert same_weights(second, unbroken) and second.history == unbroken.history
    assert second.result == unbroken.result and second.test_loss == unbroken.test_loss


@pytest.mark.slow
def test_a_checkpoint_of_another_noise_is_refused(data, tmp_path, monkeypatch):
    """The likelihoods read the same but for the numbers in their arrays."""
    monkeypatch.setattr(TrainingProgress, "show", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    settings = {"architecture": OnsagerNet(), "plan": PLAN, "progress": False}
    settings["checkpoint"] = tmp_path / "c.uidd"
    uidd.fit(data, **settings, likelihood=MeanIncrement(jnp.eye(2)))
    with pytest.raises(uidd.InputError, match="belongs to other data or settings"):
        uidd.fit(data, **settings, likelihood=MeanIncrement(2 * jnp.eye(2)), resume=True)
