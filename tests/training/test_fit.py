"""`fit` on small data with a known answer."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.components import FieldCirculation
from uidd.data import Trajectories
from uidd.likelihood import AbstractLikelihood, EulerMaruyama
from uidd.systems import Linear
from uidd.systems.linear import STIFFNESS
from uidd.thermodynamics import entropy_production_rate, local_entropy_production
from uidd.training import Plan, fit, fit_linear
from uidd.training.history import best_epoch, is_better
from uidd.training.progress import TrainingProgress


def stationary_draws(count, seed):
    root = np.linalg.cholesky(np.linalg.inv(STIFFNESS))
    return np.random.default_rng(seed).standard_normal((count, 2)) @ root.T


def test_the_same_seed_gives_the_same_model_bit_for_bit(data, settings, fitted, same_fit):
    assert same_fit(fit(data, **settings), fitted)


def test_the_learned_entropy_production_is_the_true_one_within_the_noise_of_the_data(data, fitted):
    """How far it may be off is how far the best linear model is off, from a bootstrap over paths."""

    def linear_rate(part):
        linear = fit_linear(part.transitions(), euler=True)
        W = linear.circulation
        return -2 * np.trace(np.linalg.inv(linear.diffusion @ linear.diffusion.T) @ W @ linear.stiffness @ W)

    generator = np.random.default_rng(0)
    train = data.split(seed=3)[0]
    rates = [linear_rate(train.select(generator.integers(len(train), size=len(train)))) for _ in range(30)]
    estimate = entropy_production_rate(fitted.model, stationary_draws(2000, 1))
    error = np.hypot(np.std(rates, ddof=1), estimate.standard_error)
    assert abs(estimate.rate - Linear().entropy_production_rate) < 5 * error


def test_training_improves_on_the_linear_start_or_keeps_it(fitted):
    assert fitted.kept in (fitted.history[0], best_epoch(fitted.history[1:]))
    assert fitted.kept.held_out <= fitted.history[0].held_out
    assert [record.epoch for record in fitted.history] == list(range(len(fitted.history)))
    assert fitted.result.code in ("ok", "still_improving")
    assert np.isfinite(fitted.test_loss) and fitted.start.successful and fitted.seconds > 0


def test_training_validation_and_test_paths_are_disjoint(data, fitted):
    """A path is known by its first state, which no other path shares."""
    parts = [{tuple(s[0]) for s in part.states} for part in data.split(seed=3)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 300
    assert {tuple(s[0]) for s in fitted.test.states} == parts[2]
    held_out = {tuple(z) for part in data.split(seed=3)[1:] for s in part.states for z in s}
    assert not held_out & set(fitted.model.anchors)
    np.testing.assert_allclose(fitted.total_time, 240 * 0.5)


class Breaking(AbstractLikelihood):
    """Counts its traces, and becomes NaN once the last matrix of W, which starts at zero, has grown."""

    traces: ClassVar[list[int]] = []

    def log_density(self, dynamics, start, increment, dt):
        self.traces.append(1)
        W = dynamics.circulation_component
        grown = isinstance(W, FieldCirculation) and jnp.abs(W.network.readout[0]).max() > 0.003
        return jnp.where(grown, jnp.nan, EulerMaruyama().log_density(dynamics, start, increment, dt))


@pytest.fixture(scope="module")
def broken(data, settings):
    """A fit that breaks on the way, and the number of traces after each of its epochs."""
    counts = []
    plan = Plan(steps=200, steps_per_epoch=1, batch=64, learning_rate=0.001, patience=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingProgress, "show", lambda self, record: counts.append(len(Breaking.traces)))
        return fit(data, **{**settings, "plan": plan, "likelihood": Breaking()}), counts


def test_an_epoch_is_traced_once(broken):
    _, counts = broken
    assert len(counts) > 1 and counts[0] == counts[-1] > 0


def test_a_loss_that_becomes_nan_stops_training_and_keeps_finite_weights(broken):
    fit, _ = broken
    assert fit.result.code == "not_finite" and "smaller learning rate" in fit.result.message
    assert 2 < len(fit.history) < 200  # it broke on the way
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fit.model))
    assert all(np.isfinite([record.loss, record.held_out]).all() for record in fit.history)


def test_the_weights_with_the_best_held_out_loss_are_kept(broken, data):
    fit, _ = broken
    best = best_epoch(fit.history[1:])
    assert best.held_out < max(record.held_out for record in fit.history)
    pairs = fit.model.scaling.transitions_to_unit(data.split(seed=3)[1].transitions())
    density = jax.jit(jax.vmap(lambda *pair: EulerMaruyama().log_density(fit.refined.unit, *pair)))
    pairs = (np.asarray(part, np.float32) for part in pairs)
    np.testing.assert_allclose(-np.mean(density(*pairs)), best.held_out, rtol=1e-4)


def test_networks_replace_the_linear_start_only_when_they_are_better_beyond_doubt():
    """Gains of deviation 1 that stay the same over 50 pairs: the mean of 9,600 is off by .07.

    Of 400 such sets without a gain three standard errors (of 32 means) are passed by .3 % or so: ten is
    a chance of 1e-6, where pairs taken for independent would pass in every third.
    """
    generator, error = np.random.default_rng(0), (50 / 9600) ** 0.5
    sets = np.repeat(generator.standard_normal((400, 192)), 50, axis=1)
    assert sum(is_better(gain) for gain in sets) < 10
    assert sum(is_better(gain + 6 * error) for gain in sets) > 390
    assert not is_better(np.zeros(10))


@pytest.mark.slow
def test_a_single_long_path_in_one_dimension_gives_a_model_in_detailed_balance(settings):
    """dX = -X dt + sqrt(2) dB, sampled exactly at dt = 0.05: W = 0, no entropy production, V = x^2 / 2.

    Over a step the Euler likelihood sees the variance (1 - e^(-2 dt)), 5 % below 2 dt; it is known to
    sqrt(2 / n), five of which are 12 %.
    """
    generator, dt = np.random.default_rng(0), 0.05
    decay, x = np.exp(-dt), np.zeros(4000)
    noise = generator.standard_normal(4000) * (1 - decay**2) ** 0.5
    for k in range(1, 4000):
        x[k] = decay * x[k - 1] + noise[k]
    plan = Plan(steps=40, steps_per_epoch=20, batch=256)
    model = fit(Trajectories.from_arrays(x, dt=dt), **{**settings, "plan": plan}).model
    z = np.array([[0.5], [-1.0]])
    assert not jax.vmap(model.circulation)(z).any()
    assert not jax.vmap(lambda z: local_entropy_production(model, z))(z).any()
    variance = np.asarray(jax.vmap(model.dissipation)(z)).ravel() * 2 * dt
    np.testing.assert_allclose(variance, 1 - decay**2, rtol=5 * (2 / 3200) ** 0.5)
    assert (np.sign(jax.vmap(model.drift)(z)) == -np.sign(z)).all()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"architecture": "tiny"}, "architecture"), ({"seed": -1}, "seed"), ({"data": [1, 2]}, "data")],
    ids=str,
)
def test_unusable_arguments_are_refused_in_one_sentence(wrong, word, data):
    with pytest.raises(InputError, match=f"`{word}` must be"):
        fit(**{"data": data, **wrong})


@pytest.mark.parametrize("name", ["steps", "batch", "steps_per_epoch", "patience", "learning_rate"])
def test_an_unusable_plan_is_refused_in_one_sentence(name):
    for value in (0, -1, "many", float("nan")):
        with pytest.raises(InputError, match=f"`{name}` must be"):
            Plan(**{name: value})


def test_only_weights_are_arrays_in_a_fitted_model(fitted):
    assert all(eqx.is_array(leaf) for leaf in jax.tree.leaves(fitted.model))
