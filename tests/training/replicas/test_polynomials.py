"""V, M and f as polynomials, on a nonlinear system: a quartic V is one of them."""

import jax
import numpy as np
import pytest

from uidd._checks import InputError
from uidd.data import Transitions
from uidd.systems import DrivenWells
from uidd.systems.driven_wells import stationary_states
from uidd.thermodynamics import cross_fitted
from uidd.training.replicas.polynomials import fit_polynomial_replicas

DT, COUNT = 0.02, 40_000


def parts_of(drive, seed=0, count=4):
    """One Euler step each from exact stationary states."""
    generator, dynamics = np.random.default_rng(seed), DrivenWells(drive).dynamics
    found = []
    for _ in range(count):
        z = stationary_states(generator, COUNT)
        f, sigma = map(np.asarray, jax.jit(jax.vmap(dynamics.drift_and_diffusion))(z))
        kicks = np.einsum("nij,nj->ni", sigma, generator.standard_normal(z.shape))
        found.append(Transitions(z, DT * f + DT**0.5 * kicks, np.full(COUNT, DT)))
    return found


@pytest.fixture(scope="module")
def states():
    return stationary_states(np.random.default_rng(99), 4000)


@pytest.mark.slow
@pytest.mark.parametrize("drive", [0.5, 0.0])
def test_the_rate_of_driven_wells_is_met_and_a_square_is_above_the_products(drive, states):
    replicas = fit_polynomial_replicas(parts_of(drive))
    assert len(replicas) == 4
    found = cross_fitted(replicas.currents(states))
    exact = DrivenWells(drive).entropy_production_rate
    assert abs(found.corrected.rate - exact) < 5 * found.corrected.standard_error
    assert found.plug_in > found.corrected.rate
    if not drive:
        assert found.corrected.standard_error < 0.05 * DrivenWells(0.5).entropy_production_rate


def test_the_fields_are_those_of_the_system(states):
    """The drift is cubic, M constant, and so are the polynomials that are chosen."""
    replicas = fit_polynomial_replicas(parts_of(0.5))
    f_degree, M_degree, V_degree = replicas.degrees
    assert f_degree >= 3 and M_degree == 0 and V_degree >= 4
    np.testing.assert_allclose(
        replicas.variances(states).mean(axis=0), 2.0, rtol=5 * (2 / (4 * COUNT)) ** 0.5
    )


def test_one_part_is_refused():
    with pytest.raises(InputError, match="at least two"):
        fit_polynomial_replicas(parts_of(0.5, count=1))
