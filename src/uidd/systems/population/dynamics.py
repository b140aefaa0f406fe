"""V, sigma and W that were drawn, with their divergences in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import Matrix, Scalar, State
from ...dynamics import AbstractDynamics
from .landscapes import AbstractLandscape

# How often a noise varies, and a circulation is absent, constant, varies, or is local.
NOISE_VARIES = 0.4
CIRCULATIONS = {"none": 0.2, "constant": 0.4, "varying": 0.25, "local": 0.15}


class RandomDynamics(AbstractDynamics):
    """dZ = [-(M + W) grad V + div M + div W] dt + sigma dB with u = B z, oblique to the landscape, and

        sigma(z) = diag(e^(a_i tanh(b_i . u))) L,    W(z) = w(u) W_0,
        w = 1 + v tanh(k . u), or e^(-|u - k|^2 / (2 v^2)) where it is local.

    Numbers are leaves, so that all systems of one shape share their compiled programs.
    """

    landscape: AbstractLandscape
    inverse_axes: Matrix
    root: Matrix
    swing: Float[Array, " D"]
    slopes: Matrix
    rotation: Matrix
    place: State
    variation: Float[Array, ""]
    local: bool = eqx.field(static=True)

    def _inner(self, z: State) -> State:
        return self.inverse_axes @ jnp.asarray(z)

    def potential(self, z: State) -> Scalar:
        """V(z)."""
        return self.landscape(self._inner(z))

    def _size(self, z: State) -> tuple[State, Matrix]:
        """E_i = e^(a_i tanh(b_i . u)), and the gradients of its logarithm, a row a coordinate."""
        t = jnp.tanh(self.slopes @ self._inner(z))
        return jnp.exp(self.swing * t), (self.swing * (1 - t**2))[:, None] * (self.slopes @ self.inverse_axes)

    def diffusion(self, z: State) -> Matrix:
        """sigma(z)."""
        return self._size(z)[0][:, None] * self.root

    def dissipation_divergence(self, z: State) -> State:
        """(div M)_i = sum_j M_ij (g_ij + g_jj), g_i the gradient of log E_i."""
        _, g = self._size(z)
        M = self.dissipation(z)
        return jnp.sum(M * g, axis=1) + M @ jnp.diag(g)

    def _strength(self, z: State) -> Scalar:
        u = self._inner(z)
        if self.local:
            return jnp.exp(-jnp.sum((u - self.place) ** 2) / (2 * self.variation**2))
        return 1 + self.variation * jnp.tanh(jnp.dot(self.place, u))

    def circulation(self, z: State) -> Matrix:
        """W(z)."""
        return self._strength(z) * self.rotation

    def circulation_divergence(self, z: State) -> State:
        """div W = W_0 grad w."""
        return self.rotation @ jax.grad(self._strength)(jnp.asarray(z))

    def time_reversed(self) -> "RandomDynamics":
        """W with its sign flipped."""
        return eqx.tree_at(lambda d: d.rotation, self, -self.rotation)


def draw_dynamics(
    generator: np.random.Generator, dimension: int, landscape: AbstractLandscape
) -> tuple[dict[str, float | str], RandomDynamics]:
    """What it is like, in words and numbers, and the equation."""
    turn, _ = np.linalg.qr(generator.standard_normal((dimension, dimension)))
    axes = turn * np.exp(generator.uniform(np.log(0.5), np.log(2.0), dimension))
    other, _ = np.linalg.qr(generator.standard_normal((dimension, dimension)))
    sizes = np.exp(generator.uniform(np.log(0.4), np.log(2.5), dimension))
    root = np.linalg.cholesky(2 * (other * sizes) @ other.T)
    varies = bool(generator.random() < NOISE_VARIES)
    # From one end to the other sigma changes by e^(2 a), two at the least.
    swing = generator.uniform(0.35, 0.7, dimension) * generator.choice([-1, 1], dimension) * varies
    slopes = generator.standard_normal((dimension, dimension)) / dimension**0.5
    kind = str(generator.choice(list(CIRCULATIONS), p=list(CIRCULATIONS.values())))
    ratio = float(np.exp(generator.uniform(np.log(0.1), np.log(10.0))))
    if kind == "none" or dimension == 1:
        kind, ratio = "none", 0.0
    A = generator.standard_normal((dimension, dimension))
    A = A - A.T
    half = root / 2**0.5
    size = np.linalg.norm(A, 2) if dimension > 1 else 1.0
    local = kind == "local"
    place = generator.standard_normal(dimension) * (0.7 if local else 1 / dimension**0.5)
    variation = generator.uniform(0.7, 1.5) * dimension**0.5 if local else 0.9 * (kind == "varying")
    numbers = (np.linalg.inv(axes), root, swing, slopes, ratio / size * half @ A @ half.T, place, variation)
    dynamics = RandomDynamics(landscape, *(jnp.asarray(part) for part in numbers), local=local)
    return {"noise": "varying" if varies else "constant", "circulation": kind, "ratio": ratio}, dynamics
