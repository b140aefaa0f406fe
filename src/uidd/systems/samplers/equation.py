"""The stochastic differential equation that a sampler follows for small steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._programs import compiled
from ..._types import Matrix, State
from ...dynamics import AbstractEquation, cholesky
from .sampler import Sampler


class SamplerEquation(AbstractEquation):
    """dZ = f dt + (R R^T + step * Sigma_b)^{1/2} dB: mean and covariance of an iteration, exactly.

    f is the full-batch force and Sigma_b(z) the covariance of the batch's. With replacement it is that of one
    datum over b; without, (n - b) / (n - 1) times that; both are finite sums over the data.

    Attributes:
        sampler: With all of its data.
        per_datum: Sigma_b over the sum of squares of the forces' deviations from their mean.
    """

    sampler: Sampler
    per_datum: Float[Array, ""]

    def __init__(self, sampler: Sampler):
        # The batch size is a number here and not a shape: one program serves all of them.
        self.sampler = sampler.with_batch_size(None)
        n, b = sampler.count, sampler.batch_size
        drawn = n if b is None else b
        share = 1.0 if sampler.replacement and b is not None else (n - drawn) / max(n - 1, 1)
        self.per_datum = jnp.asarray(share / (n * drawn), jnp.result_type(float))

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f, and a lower triangular root of R R^T + step * Sigma_b."""
        return self.drift(z), cholesky(2 * self.dissipation(z))

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
        apart = self._apart(z)
        return self.per_datum * apart.T @ apart

    def increment(self, z: State, dt: float, key: PRNGKeyArray) -> State:
        """An Euler step of the equation.

        The batch's noise is made of one normal number a datum, sum_i xi_i (force_i - mean), which has the
        covariance Sigma_b and needs no root of it.
        """
        own, other = jax.random.split(key)
        noise = self.sampler.random_part(z, jax.random.normal(own, z.shape, z.dtype))
        xi = jax.random.normal(other, (self.sampler.count,), z.dtype)
        noise += (self.sampler.step * self.per_datum) ** 0.5 * xi @ self._apart(z)
        return dt * self.drift(z) + dt**0.5 * noise

    def _apart(self, z: State) -> Float[Array, "n D"]:
        """The forces of the data, less their mean."""
        forces = self.sampler.scale * jax.vmap(self.sampler.force, (None, 0))(z, self.sampler.data)
        return forces - jnp.mean(forces, axis=0)


def stationary_states(
    equation: SamplerEquation, starts: np.ndarray, time: float, *, substeps: int = 4, seed: int
) -> np.ndarray:
    """Draws from the stationary density of the equation: states of the chain, followed for some time more.

    Args:
        equation: Of a sampler.
        starts: States near the density, `(n, D)`, such as ends of chains.
        time: How long they are followed.
        substeps: Euler steps for one iteration of the sampler.
        seed: Of the noise.
    """
    dt = equation.sampler.step / substeps
    keys = jax.random.split(jax.random.key(seed), len(starts))
    return np.asarray(_followed(equation, jnp.asarray(starts), keys, round(time / dt), dt))


@compiled
def _followed(equation: SamplerEquation, starts, keys, steps: int, dt: float):
    def one(z, key):
        def step(state, _):
            z, key = state
            key, own = jax.random.split(key)
            return (z + equation.increment(z, dt, own), key), None

        return jax.lax.scan(step, (z, key), None, length=steps)[0][0]

    return jax.vmap(one)(starts, keys)
