"""The theorem, executable: V and a tridiagonal W for any drift, diffusion and stationary density."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._checks import fail, numbers, whole_number
from .._types import Matrix, Scalar, State
from .abstract import AbstractDynamics
from .divergence import matrix_divergence


def decompose(
    drift: Callable[[State], State],
    diffusion: Callable[[State], Matrix],
    log_density: Callable[[State], Scalar],
    *,
    scale: Any = 1.0,
    nodes: int = 64,
) -> "Decomposition":
    """V = -log rho, f_rev, f_irr and the tridiagonal W of the theorem, by quadrature, for D >= 2.

    f_rev = -M grad V + div M and f_irr = f - f_rev. The current J = rho f_irr of a stationary density
    is free of divergence, and J = div(rho W) is solved row by row,

        rho H_1 = int J_1 dz_2,    rho H_d = int int (d_1 J_1 + ... + d_d J_d) dz_d dz_(d+1),

    each integral from minus infinity to z, W_(d,d+1) = H_d = -W_(d+1,d). The last row then holds because
    div J = 0: where `log_density` is not stationary, the drift that is put together from V, M and W differs
    from the given one in its last coordinate, which is how to find out.

    Where H is large: along z_(d+1) the integral ends at the net flux through the line, not at zero. Where
    that flux does not vanish, rho H tends to a constant and H grows like 1 / rho. For D = 2 it always
    vanishes; for D >= 3 a rotation in the (z_1, z_3) plane is enough: H_1 grows like exp(z_2^2 / 2) for a
    Gaussian. V, f_rev and f_irr know nothing of this; it is the price of the tridiagonal form alone, and
    with it the digits of `circulation` are lost where rho is small on the upper side.

    Args:
        drift: f(z).
        diffusion: sigma(z), M = sigma sigma^T / 2.
        log_density: log rho(z), up to a constant.
        scale: About the standard deviation of every coordinate, one number or D: the quadrature's.
        nodes: Of each integral.

    >>> import jax.numpy as jnp
    >>> split = decompose(lambda z: jnp.stack([-z[0] + z[1], -z[1] - z[0]]),
    ...                   lambda z: jnp.sqrt(2.0) * jnp.eye(2), lambda z: -z @ z / 2)
    >>> split.circulation(jnp.zeros(2)).round(4).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    for name, function in (("drift", drift), ("diffusion", diffusion), ("log_density", log_density)):
        if not callable(function):
            fail(name, "a function of one state", type(function).__name__)
    scales = np.atleast_1d(numbers("scale", scale, "positive numbers"))
    if scales.ndim != 1 or not (np.isfinite(scales) & (scales > 0)).all():
        fail("scale", "positive: one number, or one a coordinate", repr(scale))
    whole_number("nodes", nodes, least=8)
    return Decomposition(drift, diffusion, log_density, tuple(map(float, scales)), nodes)


class Decomposition(AbstractDynamics):
    """Dynamics that were taken apart; made by `decompose`."""

    given_drift: Callable[[State], State] = eqx.field(static=True)
    given_diffusion: Callable[[State], Matrix] = eqx.field(static=True)
    log_density: Callable[[State], Scalar] = eqx.field(static=True)
    scale: tuple[float, ...] = eqx.field(static=True)
    nodes: int = eqx.field(static=True)
    direction: int = eqx.field(static=True, default=1)

    def potential(self, z: State) -> Scalar:
        """V = -log rho."""
        return -self.log_density(jnp.asarray(z))

    def diffusion(self, z: State) -> Matrix:
        """sigma, as given."""
        return self.given_diffusion(jnp.asarray(z))

    def dissipation_divergence(self, z: State) -> State:
        """div M by the full Jacobian of M."""
        return matrix_divergence(self.dissipation, z)

    def irreversible_drift(self, z: State) -> State:
        """f_irr = f - f_rev: no W is needed for it."""
        z = jnp.asarray(z, jnp.result_type(float))
        return self.direction * (self.given_drift(z) - self.reversible_drift(z))

    def circulation(self, z: State) -> Matrix:
        """The tridiagonal W."""
        z = jnp.asarray(z, jnp.result_type(float))
        if len(z) < 2:
            fail("z", "a state of two coordinates or more", f"{len(z)}", "In one dimension W is zero.")
        W = jnp.zeros((len(z), len(z)), z.dtype)
        for d in range(len(z) - 1):
            H = self._entry(z, d)
            W = W.at[d, d + 1].set(H).at[d + 1, d].set(-H)
        return W

    def circulation_divergence(self, z: State) -> State:
        """div W by the derivative of the quadrature."""
        return matrix_divergence(self.circulation, z)

    def time_reversed(self) -> "Decomposition":
        """f_irr with its sign flipped."""
        return Decomposition(
            self.given_drift,
            self.given_diffusion,
            self.log_density,
            self.scale,
            self.nodes,
            -self.direction,
        )

    def _entry(self, z: State, d: int) -> Scalar:
        """H_(d+1), with rho taken relative to that at z."""
        here = self.log_density(z)

        def current(s):
            return jnp.exp(self.log_density(s) - here) * self.irreversible_drift(s)

        if d == 0:
            return self._integral(lambda s: current(s)[0], z, 1)

        def gathered(s):
            return jnp.trace(jax.jacfwd(current)(s)[: d + 1, : d + 1])

        return self._integral(lambda s: self._integral(gathered, s, d), z, d + 1)

    def _integral(self, function: Callable[[State], Scalar], z: State, axis: int) -> Scalar:
        """From minus infinity to z along one coordinate: Gauss-Legendre, z - s = scale (1 + u) / (1 - u)."""
        u, weight = np.polynomial.legendre.leggauss(self.nodes)
        scale = self.scale[axis % len(self.scale)]
        length = jnp.asarray(scale * (1 + u) / (1 - u), z.dtype)
        values = jax.vmap(lambda t: function(z.at[axis].add(-t)))(length)
        # Far out the density is zero, and what it multiplies may be anything.
        values = jnp.where(jnp.isfinite(values), values, 0.0)
        return jnp.sum(jnp.asarray(weight * 2 * scale / (1 - u) ** 2, z.dtype) * values)
