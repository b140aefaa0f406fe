"""The ensemble: what other data of the same size could have given."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from ..models import Model
from .coefficients import Coefficients
from .gauss_newton import Solution

PAIRS = 16


@dataclass(frozen=True)
class Ensemble:
    """Deviations of the coefficients from those of `center`, in pairs of opposite sign.

    Attributes:
        center: The fitted model.
        deviations: Of the coefficients, one row a member; rows k and k + n/2 are opposite.
        penalised: Which coefficients have a prior.
    """

    center: Model
    deviations: np.ndarray
    penalised: np.ndarray

    def __len__(self) -> int:
        return len(self.deviations)

    @property
    def models(self) -> tuple[Model, ...]:
        """One model a member."""
        return tuple(self.shifted(row) for row in self.deviations)

    def shifted(self, deviation: np.ndarray) -> Model:
        """The model with its coefficients moved."""
        weights = Coefficients.of(self.center.unit)
        return eqx.tree_at(lambda m: m.unit, self.center, weights.dynamics(weights.vector + deviation))


def draw_ensemble(center: Model, weights: Coefficients, solution: Solution, *, seed: int) -> Ensemble:
    """One Gauss-Newton step from the solution for data with bootstrapped blocks and a redrawn prior.

    A data set in which block b counts w_b times has the score sum_b w_b g_b, and its solution lies
    (F + L)^-1 sum_b (w_b - 1) g_b away. Where a prior pulls at the coefficients, its centre is drawn from it
    as well. The spread is then that of the posterior if the model is right, and the bootstrap's where
    the noise is larger than the model believes. The coefficients enter almost linearly, so one step is
    nearly a new fit; a test compares the two.
    """
    generator = np.random.default_rng([seed, 7])
    L = solution.prior(weights)
    factor = scipy.linalg.cho_factor(solution.information + np.diag(L))
    blocks = solution.found.blocks - solution.found.blocks.mean(axis=0)
    count = len(blocks)
    rows = []
    for _ in range(PAIRS):
        repeats = np.bincount(generator.integers(count, size=count), minlength=count)
        pull = np.where(weights.penalised, generator.standard_normal(len(L)) * np.sqrt(L), 0.0)
        rows.append(scipy.linalg.cho_solve(factor, (repeats - 1.0) @ blocks + pull))
    deviations = np.asarray(rows)
    return Ensemble(center, np.concatenate([deviations, -deviations]), weights.penalised)


def stacked_weights(ensemble: Ensemble, deviations: np.ndarray) -> tuple[object, object]:
    """All members as one tree with a leading axis, and what they share; for `jax.vmap` or `jax.lax.map`."""
    import jax

    weights = Coefficients.of(ensemble.center.unit)
    members = [weights.unravelled(weights.vector + row) for row in deviations]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *members), weights.frozen
