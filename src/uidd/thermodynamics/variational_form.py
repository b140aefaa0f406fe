"""E |f - div M + M grad phi|^2 in the metric M^-1: over all phi it is smallest at V, and there the rate.

With f = -M grad V + div M + f_irr what is squared is f_irr + M grad(phi - V), and E f_irr . grad phi = 0 for
every phi, because e^-V is stationary. Only f, M and states from the stationary density are needed.
Polynomials have normal equations, networks a loss of each state (`training.objectives.PotentialObjective`).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Matrix, State
from ..dynamics import AbstractEquation, solve_lower


def force_and_root(equation: AbstractEquation, z: State, f: State | None = None) -> tuple[State, Matrix]:
    """f - div M, and the root of M = root root^T; another f in place of the equation's if it is given."""
    if f is None:
        f, sigma = equation.drift_and_diffusion(z)
    else:
        sigma = equation.diffusion(z)
    return f - equation.dissipation_divergence(z), sigma / 2**0.5


def pull_and_root(equation: AbstractEquation, z: State, f: State | None = None) -> tuple[State, Matrix]:
    """root^-1 (f - div M), and the root of M: what a loss of grad V needs of a state."""
    h, root = force_and_root(equation, z, f)
    return solve_lower(root, h), root


def normal_equations(
    gradients: Float[Array, "n p D"], h: Float[Array, "n D"], root: Float[Array, "n D D"]
) -> tuple[Float[Array, "p p"], Float[Array, " p"]]:
    """K and r of const + 2 r . c + c^T K c, summed over states, for phi = c . phi_p and h = f - div M."""
    scaled = jnp.moveaxis(gradients @ root, 1, 0).reshape(gradients.shape[1], -1)
    return scaled @ scaled.T, jnp.einsum("npd,nd->p", gradients, h)
