"""Coordinates along which states are least Gaussian: units lie over them, and powers are taken of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...components import Bumps, Network, QuadraticPotential
from ...dynamics import ComponentDynamics

LOOKED_AT, MOST_ITERATIONS, SETTLED = 20_000, 100, 1e-6


def ica_frame(states: np.ndarray) -> np.ndarray:
    """A with coordinates z A along what is least Gaussian.

    A well that lies oblique to all coordinates is hardly seen in the powers of any. Independent components of
    the recorded states are coordinates of unit size whose distributions are as far from a Gaussian as can be;
    two wells, or a wall on one side, show there. They say only along what V may be nonlinear, not how: that
    is left to the transitions, so the states need not be stationary.
    """
    return independent_components(states[:: -(-len(states) // LOOKED_AT)])


def has_frame(dynamics: ComponentDynamics) -> bool:
    """Whether V has powers of single coordinates alone."""
    potential = dynamics.potential_component
    nonlinear = potential.nonlinear if isinstance(potential, QuadraticPotential) else None
    return nonlinear is not None and nonlinear.polynomial.frame is not None


def in_frame(dynamics: ComponentDynamics, frame: np.ndarray) -> ComponentDynamics:
    """The same model with V's powers taken of the coordinates z A."""
    place = lambda d: d.potential_component.nonlinear.polynomial.frame  # noqa: E731
    return eqx.tree_at(place, dynamics, jnp.asarray(frame, place(dynamics).dtype))


def laid_out(dynamics: ComponentDynamics, frame: np.ndarray) -> ComponentDynamics:
    """The same model with its drawn units and bumps laid out over the coordinates z A.

    Drawn ones fill a ball of unit size. Where coordinates go together the states fill a thin part of it, in
    which few units would change.
    """

    def moved(node):
        if isinstance(node, Network) and len(node.hidden) == 1:
            ((A, a),) = node.hidden
            return eqx.tree_at(lambda n: n.hidden, node, ((jnp.asarray(frame, A.dtype) @ A, a),))
        if isinstance(node, Bumps):
            P = node.planes
            return eqx.tree_at(lambda b: b.planes, node, jnp.asarray(frame, P.dtype) @ P)
        return node

    return jax.tree.map(moved, dynamics, is_leaf=lambda n: isinstance(n, Network | Bumps))


def independent_components(states: np.ndarray) -> np.ndarray:
    """A with states A of unit covariance and as independent as a linear map makes them.

    Hyvarinen's fixed point for all directions w at once, w <- <x g(w x)> - <g'(w x)> w with g = tanh, on
    whitened x, the directions kept orthogonal. Gaussian states have no such directions, and any will do.
    """
    values, vectors = np.linalg.eigh(np.cov(states, rowvar=False))
    whitening = vectors / np.sqrt(np.maximum(values, 1e-12 * values.max()))
    x = (states - states.mean(axis=0)) @ whitening
    w, _ = np.linalg.qr(np.random.default_rng(0).standard_normal(whitening.shape))
    for _ in range(MOST_ITERATIONS):
        g = np.tanh(x @ w)
        left, _, right = np.linalg.svd(x.T @ g / len(x) - w * np.mean(1 - g**2, axis=0))
        before, w = w, left @ right
        if np.abs(np.abs(np.sum(before * w, axis=0)) - 1).max() < SETTLED:
            break
    return whitening @ w
