"""The linear systems: their truth by independent formulas, their generator by exact moments."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from uidd.systems import Beads, Gyrator, Linear, Trap
from uidd.thermodynamics import entropy_production_rate

SYSTEMS = [
    Linear(),
    Linear(0.5),
    Beads(2),
    Beads(5),
    Trap(),
    Trap(0.7, 2.0),
    Gyrator(),
    Gyrator(1, 3, -1, 4, 2),
]
by_name = pytest.mark.parametrize("system", SYSTEMS, ids=repr)


def hand_written(system):
    """A and D as the equations have them."""
    match system:
        case Linear():
            M = np.array([[0.02595867, -0.01463836], [-0.01463836, 0.02783796]])
            S = np.array([[33.97958886, -10.35827272], [-10.35827272, 13.60290032]])
            return -(M + system.strength * 0.12367745 * np.array([[0, -1], [1, 0]])) @ S, M
        case Beads(count=2):
            return np.array([[-2, 1], [1, -2]]), np.diag([1, 10])
        case Beads(count=5):
            return scipy.linalg.toeplitz([-2, 1, 0, 0, 0]), np.diag([1, 3.25, 5.5, 7.75, 10])
        case Trap():
            e = system.strength
            return np.array([[-1, -e], [e, -1]]), system.temperature * np.eye(2)
        case Gyrator():
            return -np.array([[system.k1, system.u], [system.u, system.k2]]), np.diag([system.T1, system.T2])


@by_name
def test_the_drift_and_the_noise_are_those_of_the_equations(system, x64):
    A, D = hand_written(system)
    x = np.linspace(-1, 2, len(A))
    assert np.allclose(system.dynamics.drift(jnp.asarray(x)), A @ x, rtol=1e-11)
    assert np.allclose(system.dynamics.dissipation(jnp.asarray(x)), D, rtol=1e-12)


@by_name
def test_the_truth_follows_from_the_lyapunov_equation(system):
    """A C + C A^T = -2 D, then EPR = Tr[(A + D C^-1)^T D^-1 (A + D C^-1) C]."""
    A, D = hand_written(system)
    C = scipy.linalg.solve_continuous_lyapunov(A, -2.0 * D)
    current = A + D @ np.linalg.inv(C)
    assert np.allclose(system.covariance, C, rtol=1e-10)
    rate = np.trace(current.T @ np.linalg.inv(D) @ current @ C)
    assert system.entropy_production_rate == pytest.approx(rate, rel=1e-10)


@by_name
def test_the_rate_is_the_mean_of_the_local_entropy_production(system):
    root = np.linalg.cholesky(system.covariance)
    draws = np.random.default_rng(0).standard_normal((20_000, len(root))) @ root.T
    estimate = entropy_production_rate(system.dynamics, draws)
    assert abs(estimate.rate - system.entropy_production_rate) < 5 * estimate.standard_error


@pytest.mark.parametrize(
    ("system", "rate"),
    [
        *((Linear(2.0**-k), r) for k, r in enumerate((47.0598, 11.7650, 2.94124, 0.735310))),
        (Beads(2), 2.025),
        (Beads(5), 0.629817),
        (Trap(0.3), 0.18),
        (Gyrator(1, 3, -1, 4, 2), 1 * 4 / (8 * 4)),
    ],
)
def test_the_rate_is_the_published_one(system, rate):
    assert system.entropy_production_rate == pytest.approx(rate, rel=5e-6)


@pytest.mark.parametrize("system", [Linear(0.0), Beads(4, 3.0, 3.0), Trap(0.0), Gyrator(2, 1, 1, 3, 3)])
def test_in_equilibrium_the_rate_is_exactly_zero(system):
    assert system.entropy_production_rate == 0


@pytest.mark.parametrize("system", [Linear(), Beads(2), Beads(5), Trap(), Gyrator()], ids=repr)
def test_stationary_paths_have_the_exact_moments(system):
    """E[x x^T] = C at the start and later, E[x(t) x(0)^T] = exp(A t) C: every entry to 5 standard errors."""
    A, D = hand_written(system)
    C, count, dt = scipy.linalg.solve_continuous_lyapunov(A, -2.0 * D), 20_000, 0.3
    exact = {"scheme": "exact", "stationary": True} if isinstance(system, Linear) else {}
    paths = np.stack(system.simulate(count, 4, dt, **exact, seed=5).states)
    for first, second, truth in ((0, 0, C), (3, 3, C), (3, 0, scipy.linalg.expm(A * 3 * dt) @ C)):
        products = np.einsum("ni,nj->nij", paths[:, first], paths[:, second])
        error = products.std(axis=0) / count**0.5
        assert (np.abs(products.mean(axis=0) - truth) < 5 * error).all()


def test_a_beads_count_that_is_no_count_is_refused():
    with pytest.raises(ValueError, match="`count` must be a whole number"):
        Beads(2.5)


def test_a_gyrator_without_a_minimum_is_refused():
    with pytest.raises(ValueError, match="`u` must be less than"):
        Gyrator(u=2.0)
