"""The metastable system's Fokker-Planck solution against its own equations and against long paths."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse.linalg

from uidd.dynamics import AbstractDynamics
from uidd.systems import Metastable
from uidd.systems.fokker_planck import solve_stationary
from uidd.systems.langevin import fine_paths
from uidd.systems.metastable import stationary_solution


@pytest.fixture(scope="module")
def dynamics():
    return Metastable().dynamics


@pytest.fixture(scope="module")
def likely_states():
    """States with V less than 10 above its minimum, about evenly spread."""
    solution = stationary_solution()
    x, y = np.meshgrid(*solution.centres, indexing="ij")
    likely = solution.probability > np.exp(-10) * solution.probability.max()
    return np.random.default_rng(0).permutation(np.stack([x[likely], y[likely]], axis=-1))[:500]


def test_a_density_in_closed_form_is_found():
    """The drift -M grad(x^2 + y^2) + 2 (y, -x) has density e^-(x^2 + y^2); the guess is another."""
    M, errors = (0.5, 1.0), []

    def guess(x, y):
        return x**2 + y**2 - np.cos(x) * y / 4

    def flow_x(x, y):
        return 2 * y + M[0] * np.sin(x) * y / 4

    def flow_y(x, y):
        return -2 * x - M[1] * np.cos(x) / 4

    coarse, fine = (solve_stationary(guess, (flow_x, flow_y), M, (5.0, 5.0), n) for n in (60, 120))
    for solution in (coarse, fine, fine.extrapolated(coarse)):
        x, y = np.meshgrid(*solution.centres, indexing="ij")
        errors.append(np.ptp((solution.log_ratio + np.cos(x) * y / 4)[x**2 + y**2 < 8]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)
    assert errors[2] < errors[1] / 20
    rate = 2 / M[0] + 2 / M[1]  # <4 y^2> / M_x + <4 x^2> / M_y
    assert fine.extrapolated(coarse).entropy_production_rate == pytest.approx(rate, rel=1e-3)


def test_the_wells_weigh_what_another_scheme_says():
    """Scharfetter-Gummel fluxes of the density itself, which know nothing of V0, on two grids."""

    def mean_x(n, M=(0.01, 0.1)):
        x, y = (np.linspace(-half, half, n + 1) for half in (2, 3))
        cx, cy = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
        cell, rows, columns, rates = np.arange(n * n).reshape(n, n), [], [], []
        for where, a, b, m, h, axis in (
            ((x[1:-1, None], cy), cell[:-1], cell[1:], M[0], 4 / n, 0),
            ((cx[:, None], y[1:-1]), cell[:, :-1], cell[:, 1:], M[1], 6 / n, 1),
        ):
            turn, well = 1 + np.sin(where[0]), where[0] * (1 - where[0] ** 2)
            f = (well / 5 + where[1] * turn, -where[1] + 2 * well * turn)[axis]
            peclet = np.where(f == 0, 1e-12, f * h / m).ravel()
            for p, here, there in ((peclet, a.ravel(), b.ravel()), (-peclet, b.ravel(), a.ravel())):
                rate = m / h**2 * -p / np.expm1(-p)
                rows += [there, here]
                columns += [here, here]
                rates += [rate, -rate]
        L = scipy.sparse.csc_matrix(
            (-np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns))), shape=(n * n, n * n)
        )
        known = int(cell[n // 4, n // 2])
        rest = np.delete(np.arange(n * n), known)
        p = np.ones(n * n)
        p[rest] = scipy.sparse.linalg.splu(L[rest][:, rest]).solve(-L[:, [known]].toarray()[rest, 0])
        p = p.reshape(n, n) / p.sum()
        return (p.sum(axis=1) * cx).sum()

    solution = stationary_solution()
    truth = (solution.probability.sum(axis=1) * solution.centres[0]).sum()
    coarse, fine = mean_x(100), mean_x(200)
    assert fine + (fine - coarse) / 3 == pytest.approx(truth, abs=abs(fine - coarse) / 3)


def test_the_potential_has_converged():
    """200 cells a side against 300, where V is below 15."""
    a, b = (stationary_solution(n).splines[0] for n in (200, 300))
    x = np.random.default_rng(1).uniform((-2, -3), (2, 3), (4000, 2))
    dynamics = Metastable().dynamics
    with jax.enable_x64(True):
        z = jnp.asarray(x)
        V = np.asarray(jax.jit(jax.vmap(dynamics.potential))(z))
        difference = np.asarray(jax.jit(jax.vmap(a))(z) - jax.jit(jax.vmap(b))(z))
    V = V - V.min()
    assert np.abs(difference[V < 15]).max() < 0.01
    assert np.abs(difference[V < 5]).max() < 1e-4


def test_the_rate_has_converged():
    rate = Metastable().entropy_production_rate
    assert rate == pytest.approx(7.66319, abs=2e-5)
    assert stationary_solution(200).entropy_production_rate == pytest.approx(rate, rel=3e-5)


def test_current_and_density_agree(dynamics, likely_states, x64):
    """f_irr = f + M grad V is -W grad V + div W, of which rho times it has no divergence."""

    def both(z):
        return dynamics.irreversible_drift(z), AbstractDynamics.irreversible_drift(dynamics, z)

    direct, by_circulation = jax.jit(jax.vmap(both))(jnp.asarray(likely_states))
    assert np.abs(direct - by_circulation).max() < 3e-3  # of a current of order 1


def test_reversal_turns_the_current_only(dynamics, likely_states, x64):
    back = dynamics.time_reversed()

    def parts(z):
        return (
            dynamics.reversible_drift(z),
            dynamics.irreversible_drift(z),
            back.irreversible_drift(z),
            back.drift(z),
        )

    reversible, current, reversed_current, drift = jax.jit(jax.vmap(parts))(jnp.asarray(likely_states[:5]))
    assert np.allclose(reversed_current, -current)
    assert np.allclose(drift, reversible - current)
    assert back.time_reversed() == dynamics


def test_paths_keep_the_moments_of_the_solution(dynamics):
    """Drawn from the solution, and still of it at time 20."""
    count, solution = 4000, stationary_solution()
    x, y = (centres.ravel() for centres in np.meshgrid(*solution.centres, indexing="ij"))
    weights = solution.probability.ravel()

    def draw(generator, count):
        return np.stack([x, y], axis=-1)[generator.choice(x.size, count, p=weights)]

    data = fine_paths(dynamics, draw, count, 2, 20.0, largest_step=0.05, seed=2)
    end = np.stack(data.states)[:, 1]
    for i, j in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1), (4, 0), (2, 2)):
        values = end[:, 0] ** i * end[:, 1] ** j
        assert abs(values.mean() - weights @ (x**i * y**j)) < 5 * values.std() / count**0.5
