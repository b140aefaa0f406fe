"""The corrections to the paper's formulas, each derived again and pinned. (Number 1: test_identities.)"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate

from uidd.components import Tridiagonal
from uidd.dynamics import ClosedFormDynamics, matrix_divergence
from uidd.likelihood import EulerMaruyama

ROUNDING = 1e-11


def test_the_difference_of_loss_and_potential_has_these_signs(x64, fresh_seed, quickly):
    """Correction 2. With drift f = -grad L and M = 1 + eta Sigma / 2,

        -grad L = -(M + W) grad V + div M + div W
                = -grad V - (eta/2) Sigma grad V + (eta/2) div Sigma + f_irr,

    hence grad L - grad V = (eta/2) (Sigma grad V - div Sigma) - f_irr.
    """
    eta = 0.3

    def Sigma(z):
        return jnp.array([[2 + z[0] ** 2, z[0] * z[1]], [z[0] * z[1], 1 + z[1] ** 2]])

    dynamics = ClosedFormDynamics(
        lambda z: (z[0] ** 4 + z[1] ** 2) / 2 + z[0] * z[1],
        lambda z: jnp.linalg.cholesky(2 * (jnp.eye(2) + eta / 2 * Sigma(z))),
        lambda z: jnp.sin(z[0] + 2 * z[1]) * jnp.array([[0.0, 1.0], [-1.0, 0.0]]),
    )

    def both(z):
        dV, dL = dynamics.potential_gradient(z), -dynamics.drift(z)
        divergence = matrix_divergence(Sigma, z)
        right = eta / 2 * (Sigma(z) @ dV - divergence) - dynamics.irreversible_drift(z)
        return dL - dV, right

    left, right = quickly(jax.vmap(both))(np.random.default_rng(fresh_seed).standard_normal((6, 2)))
    np.testing.assert_allclose(left, right, rtol=ROUNDING, atol=ROUNDING)


def test_the_first_component_of_div_W_is_plus_the_second_derivative_of_H(
    x64, fresh_seed, with_random_weights, quickly
):
    """Correction 3. W = H J, J with +1 at (1, 2): (div W)_1 = d_2 W_12 = +dH/dz_2, (div W)_2 = -dH/dz_1."""
    circulation = with_random_weights(lambda key: Tridiagonal(widths=(8,)).build(2, key=key), fresh_seed)

    def both(z):
        dH = jax.grad(lambda z: circulation.network(z)[0])(z)
        return circulation.with_divergence(z)[1], jnp.stack([dH[1], -dH[0]])

    div_W, expected = quickly(jax.vmap(both))(np.random.default_rng(fresh_seed).standard_normal((6, 2)))
    np.testing.assert_allclose(div_W, expected, rtol=ROUNDING, atol=ROUNDING)


def test_div_W_of_a_known_field_is_what_paper_and_pencil_give(x64):
    """H = z1^2 z2: (div W)_1 = z1^2 and (div W)_2 = -2 z1 z2."""
    J = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
    dynamics = ClosedFormDynamics(lambda z: z @ z / 2, lambda z: jnp.eye(2), lambda z: z[0] ** 2 * z[1] * J)
    z1, z2 = 1.5, -0.7
    np.testing.assert_allclose(dynamics.circulation_divergence(np.array([z1, z2])), [z1**2, -2 * z1 * z2])


def test_the_transition_density_integrates_to_one(x64, quickly):
    """Correction 4: the normalisation of a Gaussian in R^D is (2 pi)^(-D/2), here for D = 2.

    The trapezoidal rule on a box of 10 standard deviations, 200 points a side, is exact to rounding for a
    Gaussian.
    """
    dynamics = ClosedFormDynamics(
        lambda z: z @ z / 2,
        lambda z: jnp.array([[0.8, 0.0], [0.5, 1.2]]),
        lambda z: 0.4 * jnp.array([[0.0, 1.0], [-1.0, 0.0]]),
    )
    start, dt = jnp.array([0.3, -0.2]), 0.09
    axis = np.linspace(-4.0, 4.0, 201)  # the standard deviations are 0.24 and 0.39
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    log_density = quickly(jax.vmap(lambda d: EulerMaruyama().log_density(dynamics, start, d, dt)))(grid)
    density = np.exp(np.asarray(log_density)).reshape(201, 201)
    total = scipy.integrate.trapezoid(scipy.integrate.trapezoid(density, axis), axis)
    np.testing.assert_allclose(total, 1, rtol=1e-9)
