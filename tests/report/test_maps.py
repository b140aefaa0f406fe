"""The maps against a system with a known answer."""

import numpy as np
import pytest

from uidd.report.maps import line_curves, plane_maps, projected_maps, wider
from uidd.systems import Linear
from uidd.systems.linear import DISSIPATION, STIFFNESS


@pytest.fixture(scope="module")
def draws():
    return np.random.default_rng(0).multivariate_normal(np.zeros(2), np.linalg.inv(STIFFNESS), 8000)


@pytest.fixture(scope="module")
def maps(draws):
    return plane_maps(Linear(1.0).dynamics, draws)


def test_the_potential_is_the_quadratic_form_above_its_minimum(maps):
    grid = np.stack(np.meshgrid(maps.x, maps.y), axis=-1)
    exact = np.einsum("...i,ij,...j->...", grid, STIFFNESS, grid) / 2
    known = np.isfinite(maps.potential)
    # The lowest value met on grid and draws lies above the true minimum by less than one cell allows.
    np.testing.assert_allclose(maps.potential[known], exact[known], atol=2e-3)


def test_only_what_draws_support_is_shown(maps, draws):
    potential = np.einsum("ni,ij,nj->n", draws, STIFFNESS, draws) / 2
    assert np.nanmax(maps.potential) <= np.quantile(potential, 0.999) + 1.001
    assert np.isnan(maps.potential).any()
    assert np.array_equal(np.isnan(maps.potential), np.isnan(maps.local_entropy))


def test_the_fields_are_those_of_the_system(maps):
    grid = np.stack(np.meshgrid(maps.arrow_x, maps.arrow_y), axis=-1)
    exact = -grid @ (DISSIPATION @ STIFFNESS).T
    known = np.isfinite(maps.reversible).all(axis=-1)
    np.testing.assert_allclose(maps.reversible[known], exact[known], atol=1e-5)
    total = grid @ Linear(1.0).drift_matrix.T
    np.testing.assert_allclose((maps.reversible + maps.irreversible)[known], total[known], atol=1e-5)


def test_recorded_states_widen_the_region(draws):
    data = 5 * draws[:500]
    assert wider(data, draws)
    assert not wider(draws[:500], draws)
    wide = plane_maps(Linear(1.0).dynamics, draws, data)
    assert wide.x[-1] - wide.x[0] > 2 * np.ptp(draws[:, 0])


def test_a_projection_is_the_marginal_density_and_the_mean_field(draws):
    maps = projected_maps(Linear(1.0).dynamics, draws)[0]
    assert maps.axes == (0, 1) and maps.projected
    row, column = np.unravel_index(np.nanargmin(maps.potential), maps.potential.shape)
    centre = np.array([maps.x[column], maps.y[row]])
    # The fullest bin lies within one standard deviation of the only minimum.
    assert (np.abs(centre) < draws.std(axis=0)).all()
    grid = np.stack(np.meshgrid(maps.arrow_x, maps.arrow_y), axis=-1)
    known = np.isfinite(maps.reversible).all(axis=-1)
    exact = -grid @ (DISSIPATION @ STIFFNESS).T
    # A mean over a bin differs from the value at its centre by at most half a bin's change of the field.
    half = np.array([np.diff(maps.arrow_x[:2])[0], np.diff(maps.arrow_y[:2])[0]]) / 2
    bound = np.abs(DISSIPATION @ STIFFNESS) @ half
    assert (np.abs(maps.reversible - exact)[known] <= bound + 1e-5).all()


def test_curves_of_one_coordinate_are_those_of_the_oscillator():
    import jax.numpy as jnp

    from uidd.dynamics import ClosedFormDynamics

    oscillator = ClosedFormDynamics(
        lambda z: 2.0 * jnp.sum(z**2), lambda z: jnp.full((1, 1), 2.0**0.5), lambda z: jnp.zeros((1, 1))
    )
    curves = line_curves(oscillator, np.random.default_rng(0).normal(0, 0.5, (1000, 1)))
    np.testing.assert_allclose(curves.drift, -4 * curves.x, atol=1e-5)
    np.testing.assert_allclose(curves.potential, 2 * curves.x**2, atol=1e-3)
    np.testing.assert_allclose(curves.dissipation, 1.0, rtol=1e-6)
