"""The stochastic differential equation and its split, in terms of V, sigma and W."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from .._types import Matrix, Scalar, State
from .divergence import matrix_divergence


class AbstractDrift(eqx.Module):
    """dz/dt = f(z): where the mean of an increment goes, and nothing else."""

    @abc.abstractmethod
    def drift(self, z: State) -> State:
        """f(z)."""


class AbstractEquation(AbstractDrift):
    """dZ = f dt + sigma dB: what a likelihood and a simulation have to know, with or without structure."""

    @abc.abstractmethod
    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma together, for those who need both."""

    @abc.abstractmethod
    def diffusion(self, z: State) -> Matrix:
        """sigma(z), lower triangular with positive diagonal."""

    @property
    def noise_is_uniform(self) -> bool:
        """Whether sigma is known to be the same everywhere, so that it need not be looked at twice."""
        return False

    def dissipation(self, z: State) -> Matrix:
        """M(z) = sigma sigma^T / 2."""
        sigma = self.diffusion(z)
        return sigma @ sigma.T / 2

    def dissipation_divergence(self, z: State) -> State:
        """(div M)_i = sum_j d_j M_ij, by the full Jacobian of M."""
        return matrix_divergence(self.dissipation, z)

    def drift(self, z: State) -> State:
        """f(z)."""
        return self.drift_and_diffusion(z)[0]


class AbstractDynamics(AbstractEquation):
    """dZ = [-(M + W) grad V + div M + div W] dt + sigma dB, with M = sigma sigma^T / 2, W = -W^T.

    All methods take one state `z` of shape `(D,)`; map them over batches with `jax.vmap`.
    e^-V / Z is the stationary density, whatever sigma and W are.
    """

    @abc.abstractmethod
    def potential(self, z: State) -> Scalar:
        """V(z) = -log(stationary density) + const."""

    @abc.abstractmethod
    def circulation(self, z: State) -> Matrix:
        """W(z), antisymmetric."""

    @abc.abstractmethod
    def circulation_divergence(self, z: State) -> State:
        """(div W)_i = sum_j d_j W_ij."""

    @abc.abstractmethod
    def time_reversed(self) -> "AbstractDynamics":
        """The dynamics of the reversed stationary process: the same V and sigma, W with its sign flipped."""

    def potential_gradient(self, z: State) -> State:
        """grad V(z)."""
        return jax.grad(self.potential)(jnp.asarray(z, jnp.result_type(float)))

    def reversible_drift(self, z: State) -> State:
        """f_rev = -M grad V + div M."""
        return -self.dissipation(z) @ self.potential_gradient(z) + self.dissipation_divergence(z)

    def irreversible_drift(self, z: State) -> State:
        """f_irr = -W grad V + div W, the current velocity."""
        return -self.circulation(z) @ self.potential_gradient(z) + self.circulation_divergence(z)

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f = -(M + W) grad V + div M + div W, and sigma."""
        M, W, dV = self.dissipation(z), self.circulation(z), self.potential_gradient(z)
        f = -(M + W) @ dV + self.dissipation_divergence(z) + self.circulation_divergence(z)
        return f, self.diffusion(z)
