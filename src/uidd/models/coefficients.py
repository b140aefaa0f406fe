"""The weights that enter the drift (almost) linearly: what Gauss-Newton steps solve for."""

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from ..components.groups import FROZEN, Groups, all_of
from ..dynamics import ComponentDynamics

COMPONENTS = ("potential", "diffusion", "circulation")


@dataclass(frozen=True)
class Coefficients:
    """Readouts and constants of a model as one vector; hidden layers stay as they are.

    Attributes:
        chosen: The dynamics with nothing but these weights.
        frozen: The dynamics with everything else.
        group: For every coefficient its group, or -1 for constants. A group is one component's readout at
            one scale of its units, V's powers or products of one degree, its bumps or wells, with one prior
            N(0, 1 / precision), which the data choose. Components say which they have.
        component: For every coefficient 0, 1 or 2: of V, of sigma, of W.
        usual_precision: Of the coefficients of every group, before any data are seen.
    """

    chosen: PyTree
    frozen: PyTree
    group: np.ndarray
    component: np.ndarray
    usual_precision: np.ndarray

    @classmethod
    def of(cls, dynamics: ComponentDynamics) -> "Coefficients":
        """Take a model apart."""
        groups = Groups()
        labels = tuple(part.coefficient_groups(groups) for part in cls._parts(dynamics))
        owners = tuple(all_of(part, index) for index, part in enumerate(labels))
        labelled, owner = (eqx.tree_at(cls._parts, dynamics, each) for each in (labels, owners))
        mask = jax.tree.map(lambda leaf: bool((leaf != FROZEN).all()), labelled)
        chosen, frozen = eqx.partition(dynamics, mask)
        flat = lambda tree: np.concatenate([np.ravel(a) for a in jax.tree.leaves(eqx.filter(tree, mask))])  # noqa: E731
        return cls(chosen, frozen, flat(labelled), flat(owner), np.array(groups.precisions))

    @staticmethod
    def _parts(dynamics: ComponentDynamics):
        return dynamics.potential_component, dynamics.diffusion_component, dynamics.circulation_component

    @property
    def groups(self) -> int:
        """How many."""
        return len(self.usual_precision)

    @property
    def group_owner(self) -> np.ndarray:
        """The component of every group."""
        return np.array([self.component[self.group == k][0] for k in range(self.groups)], int)

    @property
    def penalised(self) -> np.ndarray:
        """Which coefficients have a prior."""
        return self.group >= 0

    @property
    def vector(self) -> np.ndarray:
        """Their values."""
        return np.concatenate([np.ravel(np.asarray(a, np.float64)) for a in jax.tree.leaves(self.chosen)])

    def dynamics(self, vector: np.ndarray) -> ComponentDynamics:
        """The model with these values."""
        return eqx.combine(self.unravelled(vector), self.frozen)

    def unravelled(self, vector: np.ndarray) -> PyTree:
        """The values in their places."""
        # Cut by NumPy: JAX would compile a program for every shape.
        leaves, tree = jax.tree.flatten(self.chosen)
        ends = np.cumsum([leaf.size for leaf in leaves])
        cut = zip(leaves, np.split(np.asarray(vector), ends[:-1]), strict=True)
        return tree.unflatten(
            jax.device_put([part.reshape(leaf.shape).astype(leaf.dtype) for leaf, part in cut])
        )
