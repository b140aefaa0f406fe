"""The weights that enter the drift (almost) linearly: what Gauss-Newton steps solve for."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from ..components import Network, PlaneCirculation, QuadraticPotential
from ..dynamics import ComponentDynamics

COMPONENTS = ("potential", "diffusion", "circulation")
FROZEN, FREE = -2, -1


@dataclass(frozen=True)
class Coefficients:
    """Readouts and constants of a model as one vector; hidden layers stay as they are.

    Attributes:
        chosen: The dynamics with nothing but these weights.
        frozen: The dynamics with everything else.
        group: For every coefficient its group, or -1 for constants. A group is one component's readout at
            one scale of its units; it shares a prior N(0, 1 / precision), which the data choose.
        component: For every coefficient 0, 1 or 2: of V, of sigma, of W.
    """

    chosen: PyTree
    frozen: PyTree
    group: np.ndarray
    component: np.ndarray

    @classmethod
    def of(cls, dynamics: ComponentDynamics, *, held: tuple[str, ...] = ()) -> "Coefficients":
        """Take a model apart; the components named in `held` stay as they are, as hidden layers do."""
        parts = (
            dynamics.potential_component,
            dynamics.diffusion_component,
            dynamics.circulation_component,
        )
        labels, owners, used = [], [], 0
        for index, (name, part) in enumerate(zip(COMPONENTS, parts, strict=True)):
            labelled = jax.tree.map(
                lambda node, base=used: _labels(node, base),
                part,
                is_leaf=lambda n: isinstance(n, Network | PlaneCirculation | QuadraticPotential),
            )
            if name in held:
                labelled = jax.tree.map(lambda leaf: np.full(leaf.shape, FROZEN), labelled)
            leaves = jax.tree.leaves(labelled)
            used = max([used, *(int(leaf.max()) + 1 for leaf in leaves if leaf.size)])
            labels.append(labelled)
            owners.append(jax.tree.map(lambda leaf, index=index: np.full(leaf.shape, index), labelled))
        where = lambda d: (d.potential_component, d.diffusion_component, d.circulation_component)  # noqa: E731
        groups = eqx.tree_at(where, dynamics, tuple(labels))
        owner = eqx.tree_at(where, dynamics, tuple(owners))
        mask = jax.tree.map(lambda leaf: bool((leaf != FROZEN).all()), groups)
        chosen, frozen = eqx.partition(dynamics, mask)
        flat = lambda tree: np.concatenate([np.ravel(a) for a in jax.tree.leaves(eqx.filter(tree, mask))])  # noqa: E731
        return cls(chosen, frozen, flat(groups), flat(owner))

    @property
    def groups(self) -> int:
        """How many."""
        return int(self.group.max()) + 1

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
        return np.asarray(ravel_pytree(self.chosen)[0], np.float64)

    def dynamics(self, vector: np.ndarray) -> ComponentDynamics:
        """The model with these values."""
        return eqx.combine(self.unravelled(vector), self.frozen)

    def unravelled(self, vector: np.ndarray) -> PyTree:
        """The values in their places."""
        start, unravel = ravel_pytree(self.chosen)
        return unravel(jnp.asarray(vector, start.dtype))


def _labels(node, base: int):
    """The tree of a component with every array replaced by the groups of its entries."""
    if isinstance(node, PlaneCirculation):
        inner = eqx.tree_at(lambda n: n.planes, node, np.full(node.planes.shape, FROZEN))
        constant = jax.tree.map(lambda leaf: np.full(leaf.shape, FREE), node.constant)
        return eqx.tree_at(lambda n: (n.constant, n.network), inner, (constant, _labels(node.network, base)))
    if isinstance(node, QuadraticPotential):
        # Where a network bends V, S stays: it is what keeps e^-V integrable.
        labelled = jax.tree.map(
            lambda n: _labels(n, base), node, is_leaf=lambda n: isinstance(n, Network) or eqx.is_array(n)
        )
        if node.network is None:
            return labelled
        return eqx.tree_at(lambda n: n.stiffness, labelled, np.full(node.stiffness.shape, FROZEN))
    if not isinstance(node, Network):
        return np.full(node.shape, FREE)
    R, r = node.readout
    readout = (np.broadcast_to(base + node.scale_of_unit[:, None], R.shape), np.full(r.shape, FREE))
    hidden = jax.tree.map(lambda leaf: np.full(leaf.shape, FROZEN), node.hidden)
    return eqx.tree_at(lambda n: (n.hidden, n.readout), node, (hidden, readout))
