"""The flow of the current: it keeps the stationary density and can be turned back."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from uidd.dynamics import ClosedFormDynamics
from uidd.systems import Linear
from uidd.systems.linear import CIRCULATION, STIFFNESS
from uidd.thermodynamics import current_flow, current_velocity

J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def curved():
    """V = |z|^2 / 2 with a circulation that varies, so that the flow is not linear."""
    return ClosedFormDynamics(
        lambda z: z @ z / 2, lambda z: jnp.eye(2), lambda z: jnp.sin(z[0] + 2 * z[1]) * jnp.asarray(J)
    )


def test_the_flow_of_the_linear_system_is_a_matrix_exponential():
    """f_irr = -W S z, so phi_t = expm(-W S t); the solver's relative tolerance is 1e-5 a step."""
    z, t = np.array([0.3, -0.2]), 0.4
    np.testing.assert_allclose(
        current_velocity(Linear().dynamics, z), -CIRCULATION @ STIFFNESS @ z, rtol=1e-5
    )
    expected = scipy.linalg.expm(-CIRCULATION @ STIFFNESS * t) @ z
    np.testing.assert_allclose(current_flow(Linear().dynamics, z, t), expected, rtol=1e-3, atol=1e-4)


def test_the_flow_preserves_the_stationary_density():
    """Standard normal draws stay standard normal: moments within five standard errors.

    A fourth moment would stay too; the flow of the reversible drift would shrink all of them.
    """
    z = np.random.default_rng(5).standard_normal((3000, 2)).astype(np.float32)
    moved = np.asarray(jax.jit(jax.vmap(lambda z: current_flow(curved(), z, 0.8)))(z), np.float64)
    assert np.abs(moved - z).mean() > 0.3  # they do move
    a, b = moved.T
    for value, truth in [(a, 0), (b, 0), (a * a, 1), (a * b, 0), (b * b, 1), (a**2 * b**2, 1)]:
        assert abs(value.mean() - truth) < 5 * value.std() / len(z) ** 0.5


def test_a_negative_duration_turns_the_flow_back_and_zero_leaves_it():
    z = jnp.asarray([0.7, -0.4])
    flow = jax.jit(lambda z, t: current_flow(curved(), z, t))
    there = flow(z, 1.5)
    assert np.abs(there - z).max() > 0.1
    np.testing.assert_allclose(flow(there, -1.5), z, atol=1e-4)
    np.testing.assert_array_equal(flow(z, 0.0), z)
    np.testing.assert_allclose(current_flow(curved().time_reversed(), there, 1.5), z, atol=1e-4)
