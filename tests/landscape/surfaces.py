"""Surfaces whose stationary points are known."""

import jax
import jax.numpy as jnp
import numpy as np

CENTERS = np.random.default_rng(1).normal(size=(4, 12)) * 1.5
DEPTHS = np.array([0.0, 0.3, 0.6, 1.0])
WIDTH = 0.7


def mixture(z):
    """Four wells in twelve dimensions; overlap moves them by less than 1e-6."""
    squares = jnp.sum((z - jnp.asarray(CENTERS)) ** 2, axis=1)
    return -jax.nn.logsumexp(-jnp.asarray(DEPTHS) - squares / (2 * WIDTH**2))


def with_a_stop(z):
    """Wells near x = +-1.06, a third at 0 between them, all on y = x^2."""
    return 6 * z[0] ** 2 * (z[0] ** 2 - 1.2) ** 2 + z[0] ** 2 + 2 * (z[1] - z[0] ** 2) ** 2


def monkey(z):
    """Three valleys meet where the Hessian vanishes; three wells at radius 3, three saddles none."""
    return z[0] ** 3 - 3 * z[0] * z[1] ** 2 + (z @ z) ** 2 / 4


def ring(z):
    """A valley of equal height: minima everywhere on it, and none that could be named."""
    return (z @ z - 1) ** 2
