"""Projections against closed forms and quadrature."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from uidd import InputError
from uidd.landscape import project

GENERATOR = np.random.default_rng(0)
ROOT = GENERATOR.normal(size=(6, 6))
S = ROOT @ ROOT.T + np.eye(6)
C = np.linalg.inv(S)
STATES = GENERATOR.multivariate_normal(np.zeros(6), C, 1500)


def gaussian(z):
    return z @ jnp.asarray(S, z.dtype) @ z / 2


@pytest.mark.parametrize("axes", [2, (0, 3), (5, 1)])
@pytest.mark.parametrize("how", ["min", "marginal"])
def test_a_gaussian_over_some_of_its_coordinates(axes, how):
    found = project(gaussian, axes, how, states=STATES, bins=15)
    kept = np.atleast_1d(axes)
    points = np.stack(np.meshgrid(*found.grid, indexing="ij"), axis=-1)
    exact = np.einsum("...i,ij,...j->...", points, np.linalg.inv(C[np.ix_(kept, kept)]), points) / 2
    if how == "marginal":
        others = [k for k in range(6) if k not in kept]
        determinant = np.linalg.det(S[np.ix_(others, others)])
        exact = exact - np.log((2 * np.pi) ** len(others) / determinant) / 2
    off = (found.values - exact)[found.supported]
    assert found.result == "ok" and found.supported.any()
    assert np.abs(off).max() < (1e-9 if how == "min" else 4 * found.standard_error.max())
    assert found.standard_error.max() < 0.05
    assert np.isnan(found.values[~found.supported]).all()


def two_valleys(z):
    return 3 * (z[1] ** 2 - 1) ** 2 + z[0] * z[1] + z[0] ** 2


def test_both_valleys_of_a_hidden_coordinate_count():
    states = GENERATOR.uniform(-1.5, 1.5, (2000, 2))
    lowest = project(two_valleys, 0, "min", states=states, bins=21)
    u = np.linspace(-2, 2, 40_001)
    exact = [np.min(3 * (u**2 - 1) ** 2 + x * u + x**2) for x in lowest.grid[0]]
    np.testing.assert_allclose(lowest.values, exact, atol=1e-6)
    whole = project(two_valleys, 0, "marginal", states=states, bins=21)
    exact = [-np.log(quad(lambda u: np.exp(-two_valleys((x, u))), -4, 4)[0]) for x in whole.grid[0]]  # noqa: B023
    assert np.abs(whole.values - exact).max() < 4 * whole.standard_error.max() < 0.3


def test_nothing_is_asserted_where_no_state_is():
    angle = GENERATOR.uniform(0, 2 * np.pi, 4000)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found = project(lambda z: (z @ z - 1) ** 2, (0, 1), states=around, bins=31)
    assert np.isnan(found.values[15, 15]) and np.isnan(found.values[0, 0])
    assert np.isfinite(found.values[0, 15])


@pytest.mark.parametrize(
    ("axes", "options", "words"),
    [
        ((0, 1, 2), {}, "`axes` must be one or two"),
        ((0, 0), {}, "`axes` must be one or two"),
        (6, {}, "`axes` must be one or two"),
        (0, {"how": "mean"}, "`how` must be a known name"),
        (0, {"bins": 1}, "`bins` must be"),
        (0, {"states": None}, "`states` must be given"),
    ],
)
def test_bad_input_is_told_in_one_sentence(axes, options, words):
    with pytest.raises(InputError, match=words):
        project(gaussian, axes, **{"states": STATES, **options})
