"""The theorem on systems whose split is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from uidd import InputError
from uidd.dynamics import ClosedFormDynamics, decompose
from uidd.systems import Linear

STATES = 0.8 * np.random.default_rng(0).normal(size=(6, 3))


def potential(z):
    return z @ z / 2 + z[0] ** 4 / 8 + z[1] * z[2] / 3 + 0.2 * jnp.sin(z[0]) * z[1]


def diffusion(z):
    return jnp.diag(1 + 0.3 * jnp.tanh(jnp.roll(z, 1)))


def circulation(z):
    a, b, c = 0.5 + 0.3 * z[2], 0.2 * z[0], 0.4 * jnp.cos(z[1])
    return jnp.array([[0.0, a, b], [-a, 0.0, c], [-b, -c, 0.0]])


@pytest.mark.slow
def test_a_known_system_of_three_dimensions_is_put_together_again(x64):
    known = ClosedFormDynamics(potential, diffusion, circulation)
    split = decompose(known.drift, diffusion, lambda z: -potential(z), nodes=48)
    z = jnp.asarray(STATES)
    W = jax.jit(jax.vmap(split.circulation))(z)
    np.testing.assert_allclose(W, -W.transpose(0, 2, 1))
    assert not W[:, 0, 2].any()
    # From V, M and the tridiagonal W, whose divergence is that of the quadrature.
    again = jax.jit(jax.vmap(split.drift))(z)
    np.testing.assert_allclose(again, jax.vmap(known.drift)(z), atol=1e-5)
    for part in ("reversible_drift", "irreversible_drift"):
        np.testing.assert_allclose(
            jax.vmap(getattr(split, part))(z), jax.vmap(getattr(known, part))(z), atol=1e-12
        )


@pytest.mark.slow
def test_the_linear_case_splits_exactly(x64):
    known = Linear(1.0).dynamics
    scale = np.sqrt(np.diag(np.linalg.inv(np.asarray(jax.hessian(known.potential)(jnp.zeros(2))))))
    split = decompose(known.drift, known.diffusion, lambda z: -known.potential(z), scale=scale)
    z = jnp.asarray(STATES[:, :2] * scale)
    W = jax.vmap(split.circulation)(z)
    np.testing.assert_allclose(W, jax.vmap(known.circulation)(z), rtol=1e-7)
    np.testing.assert_allclose(
        jax.vmap(split.time_reversed().irreversible_drift)(z),
        -jax.vmap(known.irreversible_drift)(z),
        rtol=1e-9,
    )


@pytest.mark.slow
def test_a_density_that_is_not_stationary_shows_in_the_last_coordinate(x64):
    known = ClosedFormDynamics(potential, diffusion, circulation)
    split = decompose(known.drift, diffusion, lambda z: -potential(z) - z[2] ** 2 / 4, nodes=48)
    z = jnp.asarray(STATES[:2])
    off = np.abs(jax.jit(jax.vmap(split.drift))(z) - jax.vmap(known.drift)(z))
    assert off[:, :2].max() < 1e-4 and off[:, 2].max() > 0.01


@pytest.mark.slow
def test_a_rotation_that_tridiagonal_matrices_do_not_like_grows_like_one_over_rho(x64):
    R = jnp.asarray([[0.0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    split = decompose(
        lambda z: -(jnp.eye(3) + R) @ z, lambda z: jnp.sqrt(2.0) * jnp.eye(3), lambda z: -z @ z / 2
    )
    H = [float(split.circulation(jnp.asarray([0.3, y, 0.5]))[0, 1]) for y in (2.0, 3.0, 4.0)]
    # rho H_1 = -z_3 int_-inf^z_2 rho, which tends to the net flux through the line and not to zero.
    y = np.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(H, -0.5 * np.sqrt(2 * np.pi) * norm.cdf(y) * np.exp(y**2 / 2), rtol=1e-5)


def test_bad_input_is_told_in_one_sentence():
    for arguments, words in (
        ((1, diffusion, potential), "`drift` must be a function"),
        ((potential, diffusion, None), "`log_density` must be a function"),
    ):
        with pytest.raises(InputError, match=words):
            decompose(*arguments)
    with pytest.raises(InputError, match="`scale` must be positive"):
        decompose(potential, diffusion, potential, scale=-1.0)
    with pytest.raises(InputError, match="two coordinates"):
        decompose(lambda z: -z, lambda z: jnp.eye(1), lambda z: -z @ z / 2).circulation(jnp.zeros(1))
