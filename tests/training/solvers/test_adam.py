"""Adam on several models at once: each learns as it would alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Constant, Full, SumOfSquares
from uidd.models import Architecture
from uidd.training import Plan
from uidd.training.objectives import NoiseObjective, PotentialObjective
from uidd.training.solvers.adam import Adam, _begun, _epoch, _losses, member, stacked

SMALL = Architecture(SumOfSquares(3, (4,)), Constant("full"), Full((4,)))
PLAN = Plan(steps=20, batch=16, learning_rate=1e-2, steps_per_epoch=5)
KEY = jax.random.key(0)


@pytest.fixture(scope="module", autouse=True)
def compiled_quickly(hardly_optimised):
    """Every program here runs a few times only."""
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="module")
def models(random_dynamics):
    return [random_dynamics(SMALL, 2, seed) for seed in range(3)]


@pytest.fixture(scope="module")
def examples():
    """State, pull and root for `PotentialObjective`, 40 a member."""
    generator = np.random.default_rng(0)
    z, pull = generator.standard_normal((2, 3, 40, 2)).astype(np.float32)
    return jnp.asarray(z), jnp.asarray(pull), jnp.broadcast_to(jnp.eye(2), (3, 40, 2, 2))


def of_member(trees, k):
    return tuple(part[k : k + 1] for part in trees)


def arrays(tree):
    return jax.tree.leaves(eqx.filter(tree, eqx.is_array))


def assert_close(a, b, **tolerance):
    for x, y in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_allclose(x, y, **tolerance)


def test_members_come_out_as_they_went_in(models):
    for k, model in enumerate(models):
        assert_close(member(stacked(models), k), model, rtol=0)


@pytest.mark.parametrize("function", [_losses, _epoch], ids=["losses", "an epoch"])
def test_mapped_over_members_is_one_after_the_other(function, models, examples, x64):
    """The form for accelerators against that for CPUs, in double precision: to rounding."""
    plan = Plan(steps=2, batch=4, steps_per_epoch=2)
    adam, together = Adam(PotentialObjective(), plan), stacked(models)
    together, examples = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float64) if eqx.is_inexact_array(leaf) else leaf, (together, examples)
    )
    weights, frozen = eqx.partition(together, adam.objective.trainable(together))
    given = (weights, frozen, examples)
    if function is _epoch:
        given = (frozen, _begun.all(adam, weights), examples, jax.random.split(KEY, 3))
    mapped = function.all(adam, *given)
    single = [function.one(adam, *(member(tree, k) for tree in given)) for k in range(3)]
    assert_close(mapped, stacked(single), rtol=1e-10, atol=1e-12)


def test_a_member_learns_the_same_whoever_learns_beside_it(models, examples):
    """Other weights and other examples of the other members change no bit of it."""
    adam = Adam(PotentialObjective(), PLAN)
    found, history = adam.train_all(stacked(models), examples, examples, KEY)
    others = tuple(part.at[1:].multiply(0.5) for part in examples)
    changed, other_history = adam.train_all(stacked([models[0], models[0], models[1]]), others, others, KEY)
    assert_close(member(found, 0), member(changed, 0), rtol=0)
    assert np.array_equal(history[:, 0], other_history[:, 0])
    assert not np.array_equal(history[:, 1], other_history[:, 1])


def test_only_the_component_of_the_stage_changes_and_its_loss_falls(models, examples):
    found, history = Adam(PotentialObjective(), PLAN).train_all(stacked(models), examples, examples, KEY)
    assert history.shape == (1 + PLAN.epochs, 3)
    assert (history[-1] < history[0]).all()
    before = stacked(models)
    assert_close(found.diffusion_component, before.diffusion_component, rtol=0)
    assert_close(found.circulation_component, before.circulation_component, rtol=0)


def test_the_history_is_the_mean_of_the_losses(models, examples):
    adam = Adam(PotentialObjective(), PLAN, chunk=7)  # no divisor of 40
    found, history = adam.train_all(stacked(models), examples, examples, KEY)
    losses = adam.losses_of_all(*eqx.partition(found, eqx.is_array), examples)
    assert losses.shape == (3, 40)
    np.testing.assert_allclose(losses.mean(axis=1), history[-1], rtol=1e-6)
    z, pull, root = (part[1, 3] for part in examples)
    np.testing.assert_allclose(
        losses[1, 3], PotentialObjective().loss(member(found, 1), z, pull, root), rtol=1e-5
    )


def test_a_member_that_diverges_keeps_its_last_finite_weights_and_stops_no_other(models, examples):
    """One member's examples are not numbers: it is lost in the first epoch, and the others learn on."""
    adam, good = Adam(PotentialObjective(), PLAN), stacked(models)
    wrong = (examples[0], examples[1].at[1].set(jnp.nan), examples[2])
    found, history = adam.train_all(good, wrong, examples, KEY)
    expected, clean = adam.train_all(good, examples, examples, KEY)
    assert_close(member(found, 1), models[1], rtol=0)
    assert np.isnan(history[1:, 1]).all() and np.isfinite(history[:, [0, 2]]).all()
    for k in (0, 2):
        assert_close(member(found, k), member(expected, k), rtol=0)
    assert np.array_equal(history[:, 0], clean[:, 0])


def test_when_all_diverge_training_ends(models, examples):
    wrong = (examples[0], jnp.full_like(examples[1], jnp.nan), examples[2])
    found, history = Adam(PotentialObjective(), PLAN).train_all(stacked(models), wrong, examples, KEY)
    assert_close(found, stacked(models), rtol=0)
    assert len(history) == 2


def test_constant_noise_is_learned_from_its_field(models):
    """|sigma - sigma_0|^2 falls by orders of magnitude with the steps, to zero."""
    z = jnp.zeros((3, 16, 2))
    sigma = jnp.broadcast_to(jnp.array([[1.0, 0.0], [0.3, 0.7]]), (3, 16, 2, 2))
    plan = Plan(steps=400, batch=16, learning_rate=3e-2, steps_per_epoch=100)
    _, history = Adam(NoiseObjective(), plan).train_all(stacked(models), (z, sigma), (z, sigma), KEY)
    assert (history[-1] < 1e-4 * history[0]).all()
