"""Each component's network through the search: put in where the data call for it, switched off where not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Constant, Drawn, Quadratic, Uniform, Varying
from uidd.dynamics import ClosedFormDynamics
from uidd.systems.langevin import fine_paths, stationary_starts
from uidd.training import fit
from uidd.training.progress import TrainingProgress

TURN = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
BOX = ((-4.5, 4.5), (-4.5, 4.5))
BOWL = lambda z: jnp.dot(z, z) / 2  # noqa: E731
WELLS = lambda z: 1.5 * (z[0] ** 2 - 1) ** 2 + z[1] ** 2 / 2  # noqa: E731
EVEN = lambda z: 2**0.5 * jnp.eye(2)  # noqa: E731

SYSTEMS = {
    "wells": ClosedFormDynamics(WELLS, EVEN, lambda z: 0.5 * TURN),
    "current": ClosedFormDynamics(BOWL, EVEN, lambda z: (1 + 0.9 * jnp.tanh(2 * z[0])) * TURN),
    "noise": ClosedFormDynamics(
        BOWL, lambda z: 2**0.5 * (1 + 0.5 * jnp.tanh(2 * z[0])) * jnp.eye(2), lambda z: 0 * TURN
    ),
}


def recorded(name):
    """40,000 pairs .05 apart, on 200 stationary paths."""
    dynamics = SYSTEMS[name]
    starts = stationary_starts(dynamics, BOX)
    return fine_paths(dynamics, starts, 200, 201, 0.05, largest_step=2.5e-3, seed=0)


@pytest.fixture(scope="module")
def fits():
    return {name: fit(recorded(name), progress=False) for name in SYSTEMS}


def relative_error(fit, name, quantity):
    """Root mean square over the recorded states."""
    states = jnp.asarray(np.concatenate(fit.test.states)[::5])
    found, exact = (
        np.asarray(jax.vmap(getattr(each, quantity))(states)) for each in (fit.model, SYSTEMS[name])
    )
    return np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))


@pytest.mark.slow
def test_a_network_of_V_comes_in_and_that_of_W_is_switched_off(fits):
    """Two wells of 1.5 kT and a constant W. V is known to .1 kT, its gradient to a sixth of its size."""
    found = fits["wells"].model.architecture
    assert isinstance(found.potential, Quadratic) and found.potential.width > 0
    assert found.circulation == Uniform("full") and found.diffusion == Constant("full")
    assert relative_error(fits["wells"], "wells", "potential_gradient") < 1 / 6


@pytest.mark.slow
def test_a_network_of_W_comes_in_where_the_current_varies(fits):
    """W is ten times larger on one side than the other: a constant one misses f_irr by a third and more."""
    assert isinstance(fits["current"].model.architecture.circulation, Drawn)
    states = jnp.asarray(np.concatenate(recorded("current").states)[::100])
    W = np.mean(jax.vmap(SYSTEMS["current"].circulation)(states), axis=0)
    constant = -np.asarray(jax.vmap(SYSTEMS["current"].potential_gradient)(states)) @ W.T
    exact = np.asarray(jax.vmap(SYSTEMS["current"].irreversible_drift)(states))
    missed = np.sqrt(np.mean((constant - exact) ** 2) / np.mean(exact**2))
    assert missed > 1 / 3
    assert relative_error(fits["current"], "current", "irreversible_drift") < missed / 2


@pytest.mark.slow
def test_a_network_of_sigma_comes_in_where_the_noise_varies(fits):
    """sigma grows threefold from left to right: a constant one misses it by more than a fifth."""
    assert isinstance(fits["noise"].model.architecture.diffusion, Varying)
    states = jnp.asarray(np.concatenate(recorded("noise").states)[::100])
    exact = np.asarray(jax.vmap(SYSTEMS["noise"].diffusion)(states))
    missed = np.sqrt(np.mean((exact.mean(axis=0) - exact) ** 2) / np.mean(exact**2))
    assert missed > 1 / 5
    assert relative_error(fits["noise"], "noise", "diffusion") < missed / 2


@pytest.mark.slow
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_search_that_was_interrupted_after_any_stage_resumes_bit_for_bit(
    stages, fits, tmp_path, monkeypatch
):
    """After the free drift, after some of the pairs, after all of them: the checks then still come."""
    shown = []

    def interrupt(self, record):
        shown.append(record)
        if len(shown) == stages:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "show", interrupt)
        first = fit(recorded("wells"), progress=False, checkpoint=tmp_path / "c.uidd")
    assert (
        first.result == "interrupted" and f"'{('drift', 'few', 'all')[stages - 1]}'" in first.result.message
    )
    second = fit(recorded("wells"), progress=False, checkpoint=tmp_path / "c.uidd", resume=True)
    for a, b in zip(jax.tree.leaves(second.model), jax.tree.leaves(fits["wells"].model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert second.result == fits["wells"].result and second.history == fits["wells"].history
