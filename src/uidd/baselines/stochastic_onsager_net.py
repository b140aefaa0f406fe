"""S-OnsagerNet: OnsagerNet with noise."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._types import Matrix, Scalar, State
from ..components import AbstractDiffusion, Full, SumOfSquares, Triangular
from ..data import Scaling
from ..dynamics import AbstractDrift, AbstractEquation, solve_lower
from ..likelihood import EulerMaruyama
from ..training import Trainable
from .model import StochasticBaselineModel
from .onsager_net import OnsagerDrift, OnsagerNet


class StochasticOnsagerDrift(OnsagerDrift, AbstractEquation):
    """dZ = -(M + W) grad V dt + sigma dB, sigma not tied to M."""

    noise_component: AbstractDiffusion

    def diffusion(self, z: State) -> Matrix:
        """sigma(z)."""
        return self.noise_component(z)

    def drift_and_diffusion(self, z: State) -> tuple[State, Matrix]:
        """f and sigma."""
        return self.drift(z), self.noise_component(z)

    def local_entropy_production(self, z: State) -> Scalar:
        """2 |sigma^-1 f_irr|^2: as if e^-V were the density; the noise is known here."""
        whitened = solve_lower(self.noise_component(z), self.irreversible_drift(z))
        return 2 * jnp.dot(whitened, whitened)

    def drift(self, z: State) -> State:
        """f = -(M + W) grad V."""
        return OnsagerDrift.drift(self, z)


@dataclass(frozen=True)
class StochasticOnsagerNet(Trainable[StochasticBaselineModel]):
    """dZ = -[M(Z) + W(Z)] grad V(Z) dt + sigma(Z) dB: no divergences, and sigma has nothing to do with M.

    Drift and noise are what the data say, but M, W and V have all the freedom of `OnsagerNet`: e^-V is not
    the stationary density. Trained by the Euler-Maruyama density, as in the reference; `fit` takes any other.

    Reference: X. Chen, B. W. Soh, Z.-E. Ooi, E. Vissol-Gaudin, H. Yu, K. S. Novoselov, K. Hippalgaonkar,
    Q. Li, Constructing custom thermodynamics using deep learning, Nature Computational Science 4, 66 (2024).
    """

    potential: SumOfSquares = field(default_factory=lambda: SumOfSquares(widths=(64,)))
    dissipation: Triangular = field(default_factory=Triangular)
    circulation: Full = field(default_factory=lambda: Full(widths=(32, 32)))
    noise: Triangular = field(default_factory=Triangular)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> StochasticOnsagerDrift:
        """V, M, W and sigma with random weights."""
        drift_key, noise_key = jax.random.split(key)
        parts = OnsagerNet(self.potential, self.dissipation, self.circulation).build(dimension, key=drift_key)
        return StochasticOnsagerDrift(
            parts.potential_component,
            parts.dissipation_component,
            parts.circulation_component,
            self.noise.build(dimension, key=noise_key),
        )

    def likelihood(self, noise: Matrix) -> EulerMaruyama:
        """One Euler-Maruyama step."""
        return EulerMaruyama()

    def in_user_units(self, unit: AbstractDrift, scaling: Scaling) -> StochasticBaselineModel:
        """See `StochasticBaselineModel`."""
        assert isinstance(unit, StochasticOnsagerDrift)
        return StochasticBaselineModel(unit, scaling)
