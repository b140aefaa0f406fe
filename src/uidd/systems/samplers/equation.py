"""The stochastic differential equation that a sampler follows for small steps."""

import jax
import jax.numpy as jnp

from ..._types import Matrix, State
from ...dynamics import AbstractEquation
from .sampler import Sampler


class SamplerEquation(AbstractEquation):
    """dZ = f dt + (R R^T + step * Sigma_b)^{1/2} dB: mean and covariance of an iteration, exactly.

    f is the full-batch force and Sigma_b(z) the covariance of the batch's. With replacement it is that of one
    datum over b; without, (n - b) / (n - 1) times that; both are finite sums over the data.
    """

    sampler: Sampler

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f, and a lower triangular root of R R^T + step * Sigma_b."""
        return self.drift(z), jnp.linalg.cholesky(2 * self.dissipation(z))

    def drift(self, z: State) -> State:
        """f, the force of all data."""
        return self.sampler.mean_force(z, self.sampler.data)

    def diffusion(self, z: State) -> Matrix:
        """A lower triangular root of R R^T + step * Sigma_b."""
        return self.drift_and_diffusion(z)[1]

    def dissipation(self, z: State) -> Matrix:
        """M = (R R^T + step * Sigma_b) / 2."""
        sampler = self.sampler
        if callable(sampler.noise):
            R = sampler.noise(z)
            injected = R @ R.T
        else:
            injected = sampler.noise * jnp.eye(len(z), dtype=z.dtype)
        return (injected + sampler.step * self.batch_covariance(z)) / 2

    def batch_covariance(self, z: State) -> Matrix:
        """Sigma_b(z)."""
        sampler, n = self.sampler, self.sampler.count
        if sampler.batch_size is None:
            return jnp.zeros((len(z), len(z)), z.dtype)
        forces = sampler.scale * jax.vmap(sampler.force, (None, 0))(z, sampler.data)
        apart = forces - jnp.mean(forces, axis=0)
        share = 1 if sampler.replacement else (n - sampler.batch_size) / max(n - 1, 1)
        return share / (n * sampler.batch_size) * apart.T @ apart
