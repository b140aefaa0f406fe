"""How many steps are chosen, against the exact transition of a linear process."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from uidd.likelihood import Cubature, choose_steps
from uidd.likelihood.choice import LADDER

A, SIGMA = np.array([[-1.0, 0.7], [-0.9, -0.6]]), np.array([[0.8, 0.0], [0.3, 0.5]])
STATIONARY = scipy.linalg.solve_continuous_lyapunov(A, -SIGMA @ SIGMA.T)
# Twice the steps of fourth order leave 1/16 of the error: the estimate is (15/16)^2 = .88 of the truth.
ESTIMATE = 1.25


class Linear(eqx.Module):
    """dz = A z dt + sigma dB, with the one method that a likelihood calls."""

    A: jax.Array
    sigma: jax.Array

    noise_is_uniform = False

    def drift_and_diffusion(self, z):
        return self.A @ z, self.sigma


@pytest.fixture
def linear(x64):
    return Linear(jnp.asarray(A), jnp.asarray(SIGMA))


@pytest.fixture
def starts():
    return np.random.default_rng(0).multivariate_normal(np.zeros(2), STATIONARY, 200)


def loss_of_a_pair(scheme, linear, starts, dt):
    """KL(exact | scheme) = (tr(Q^-1 P) - D + log det Q / det P + |m - m'|_Q^2) / 2, averaged over starts."""
    flow = scipy.linalg.expm(A * dt)
    P = STATIONARY - flow @ STATIONARY @ flow.T
    shift, L = jax.jit(jax.vmap(lambda z: scheme.moments(linear, z, dt)))(jnp.asarray(starts))
    Q = np.asarray(L[0] @ L[0].T)
    apart = starts @ flow.T - starts - np.asarray(shift)
    shape = np.trace(np.linalg.solve(Q, P)) - 2 + np.linalg.slogdet(Q)[1] - np.linalg.slogdet(P)[1]
    return (shape + np.einsum("ni,ij,nj->n", apart, np.linalg.inv(Q), apart).mean()) / 2


def chosen(linear, starts, dt, total, **options):
    return choose_steps(linear, starts, np.full(len(starts), dt), total, **options)


@pytest.mark.parametrize("total", [10**2, 10**4, 10**6, 10**8])
def test_the_chosen_scheme_loses_less_than_half_a_nat_and_the_next_coarser_one_more(total, linear, starts):
    choice = chosen(linear, starts, 0.6, total)
    index = LADDER.index(choice.likelihood)
    assert choice.result == "ok" and choice.lost < 0.5 and 0 < index < len(LADDER) - 1
    exact = total * loss_of_a_pair(choice.likelihood, linear, starts, 0.6)
    np.testing.assert_allclose(choice.lost, exact, rtol=ESTIMATE - 1)
    assert total * loss_of_a_pair(LADDER[index - 1], linear, starts, 0.6) > 0.5 / ESTIMATE


@pytest.mark.slow
def test_the_finest_scheme_is_fine_where_only_the_one_before_is_not(linear, starts):
    total = int(5 / loss_of_a_pair(LADDER[-2], linear, starts, 4.0))
    choice = chosen(linear, starts, 4.0, total)
    assert choice.likelihood == LADDER[-1] and choice.result == "ok"
    assert total * loss_of_a_pair(LADDER[-1], linear, starts, 4.0) < 0.5


def test_more_data_or_longer_intervals_never_choose_a_coarser_scheme(linear, starts):
    rank = np.array(
        [
            [
                LADDER.index(chosen(linear, starts, dt, total).likelihood)
                for total in (10, 10**3, 10**5, 10**7)
            ]
            for dt in (0.01, 0.1, 0.5, 2.0)
        ]
    )
    assert (np.diff(rank, axis=0) >= 0).all() and (np.diff(rank, axis=1) >= 0).all()
    assert rank[0, 0] == 0 and rank[-1, -1] > 3


def test_frames_too_far_apart_for_the_finest_scheme_are_coarse(x64, starts):
    """400 relaxation times in an interval: 16 steps of 25 each are far outside what is stable."""
    fast = Linear(jnp.asarray(200 * A), jnp.asarray(SIGMA))
    choice = chosen(fast, starts, 2.0, 1000)
    assert choice.result == "coarse" and choice.likelihood == LADDER[-1]
    assert not choice.lost < 0.5 and "far apart" in choice.result.message


def test_the_search_starts_at_the_scheme_that_is_asked_for(linear, starts):
    assert chosen(linear, starts, 0.01, 10).likelihood == LADDER[0]
    assert chosen(linear, starts, 0.01, 10, at_least=Cubature(2, 4)).likelihood == Cubature(2, 4)
