"""The weights that enter the drift (almost) linearly: what Gauss-Newton steps solve for."""

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from ..components import CurrentCirculation, Network, PlaneCirculation, QuadraticPotential, ScaledDiffusion
from ..dynamics import ComponentDynamics

COMPONENTS = ("potential", "diffusion", "circulation")
FROZEN, FREE = -2, -1
WITH_CONSTANTS_OF_THEIR_OWN = (QuadraticPotential, PlaneCirculation)
LABELLED_AS_WHOLES = (Network, ScaledDiffusion, CurrentCirculation, *WITH_CONSTANTS_OF_THEIR_OWN)


@dataclass(frozen=True)
class Coefficients:
    """Readouts and constants of a model as one vector; hidden layers stay as they are.

    Attributes:
        chosen: The dynamics with nothing but these weights.
        frozen: The dynamics with everything else.
        group: For every coefficient its group, or -1 for constants. A group is one component's readout at
            one scale of its units, V's powers or products of one degree, its bumps or wells, with one prior
            N(0, 1 / precision), which the data choose.
        component: For every coefficient 0, 1 or 2: of V, of sigma, of W.
    """

    chosen: PyTree
    frozen: PyTree
    group: np.ndarray
    component: np.ndarray

    @classmethod
    def of(cls, dynamics: ComponentDynamics) -> "Coefficients":
        """Take a model apart."""
        parts = cls._parts(dynamics)
        labels, owners, used = [], [], 0
        for index, part in enumerate(parts):
            labelled = jax.tree.map(
                lambda node, base=used: _labels(node, base),
                part,
                is_leaf=lambda n: isinstance(n, LABELLED_AS_WHOLES),
            )
            leaves = jax.tree.leaves(labelled)
            used = max([used, *(int(leaf.max()) + 1 for leaf in leaves if leaf.size)])
            labels.append(labelled)
            owners.append(jax.tree.map(lambda leaf, index=index: np.full(leaf.shape, index), labelled))
        groups = eqx.tree_at(cls._parts, dynamics, tuple(labels))
        owner = eqx.tree_at(cls._parts, dynamics, tuple(owners))
        mask = jax.tree.map(lambda leaf: bool((leaf != FROZEN).all()), groups)
        chosen, frozen = eqx.partition(dynamics, mask)
        flat = lambda tree: np.concatenate([np.ravel(a) for a in jax.tree.leaves(eqx.filter(tree, mask))])  # noqa: E731
        return cls(chosen, frozen, flat(groups), flat(owner))

    @staticmethod
    def _parts(dynamics: ComponentDynamics):
        return dynamics.potential_component, dynamics.diffusion_component, dynamics.circulation_component

    @property
    def groups(self) -> int:
        """How many."""
        return int(self.group.max()) + 1

    @property
    def group_owner(self) -> np.ndarray:
        """The component of every group."""
        return np.array([self.component[self.group == k][0] for k in range(self.groups)], int)

    @property
    def usual_precision(self) -> np.ndarray:
        """Of the readouts of every group, before any data are seen.

        States are of unit size. Readouts of some tens for V and about one for sigma and W at scale one
        are usual; at others they go as 1 / scale^2, so that V bends as much. Terms of a polynomial of V
        are usually some kT, as is the depth of a well, whose share is about one.
        """
        found = np.ones(self.groups)
        for own, part in enumerate(self._parts(self.frozen)):
            usual = []
            for node in jax.tree.leaves(part, is_leaf=lambda n: isinstance(n, Network)):
                if isinstance(node, Network):
                    usual = (1e-3 if own == 0 else 1.0) * np.asarray(node.scales) ** 4
            if isinstance(part, CurrentCirculation):
                scales = (*part.fields.network.scales, *part.currents.network.scales)
                usual = np.asarray(scales) ** 4.0
            if isinstance(part, QuadraticPotential) and part.bumps is not None:
                terms = (self.group_owner == own).sum() - len(usual) - 3
                usual = [*usual, *[1e-2] * terms, 1e-3 * part.bumps.scale**4, 1.0, 1e-1]
            if (self.group_owner == own).any():
                found[self.group_owner == own] = usual
        return found

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


def _labels(node, base: int):
    """The tree of a component with every array replaced by the groups of its entries."""
    if isinstance(node, Network):
        return _network_labels(node, base, FREE)
    if isinstance(node, ScaledDiffusion):
        # A constant factor times a field is a product without good steps: the bias is what varies, and of L
        # the part that the strengths cannot make.
        labelled = eqx.tree_at(lambda n: n.network, node, _network_labels(node.network, base, FREE))
        factor = jax.tree.map(lambda leaf: np.full(leaf.shape, FREE), node.factor)
        factor = eqx.tree_at(lambda f: f.diagonal, factor, np.full(node.factor.diagonal.shape, FROZEN))
        return eqx.tree_at(lambda n: n.factor, labelled, factor)
    if isinstance(node, CurrentCirculation):
        # A constant field of a current drives nothing; what it refers to stays as it is.
        still = jax.tree.map(lambda leaf: np.full(leaf.shape, FROZEN), node)
        used = base + len(node.fields.network.scales)
        parts = (
            _network_labels(node.fields.network, base, FREE),
            _network_labels(node.currents.network, used, FROZEN),
        )
        return eqx.tree_at(lambda n: (n.fields.network, n.currents.network), still, parts)
    if isinstance(node, WITH_CONSTANTS_OF_THEIR_OWN):
        # A network's bias would repeat the constant beside it (or add a constant to V): it stays at zero.
        labelled = jax.tree.map(
            lambda n: _network_labels(n, base, FROZEN) if isinstance(n, Network) else np.full(n.shape, FREE),
            node,
            is_leaf=lambda n: isinstance(n, Network),
        )
        if isinstance(node, PlaneCirculation):
            return eqx.tree_at(lambda n: n.planes, labelled, np.full(node.planes.shape, FROZEN))
        if (
            isinstance(node, QuadraticPotential)
            and node.network
            and node.polynomial
            and node.bumps
            and node.mixture
        ):
            # Where something bends V, S and c stay: they are what keeps e^-V integrable.
            stay = lambda n: (  # noqa: E731
                n.stiffness, n.slope, n.bumps.planes, n.bumps.centers,
                n.mixture.whitening, n.mixture.centers, n.mixture.log_weights,
            )  # fmt: skip
            labelled = eqx.tree_at(stay, labelled, [np.full(part.shape, FROZEN) for part in stay(node)])
            if node.polynomial.frame is not None:
                fixed = np.full(node.polynomial.frame.shape, FROZEN)
                labelled = eqx.tree_at(lambda n: n.polynomial.frame, labelled, fixed)
            bend = lambda n: (  # noqa: E731
                n.polynomial.cubic, n.polynomial.quartic, n.bumps.heights, n.mixture.share, n.mixture.offsets
            )  # fmt: skip
            alike = (node.bumps.heights, node.mixture.share, node.mixture.offsets)
            kinds = (*node.polynomial.mixed, *(np.zeros(part.shape, bool) for part in alike))
            first, groups = base + len(node.network.scales), []
            for kind in kinds:
                # Powers of one coordinate are likelier than products: a common prior would pull them in.
                groups.append(first + np.unique(kind, return_inverse=True)[1])
                first = int(groups[-1].max()) + 1
            labelled = eqx.tree_at(bend, labelled, groups)
        return labelled
    return np.full(node.shape, FREE)


def _network_labels(network: Network, base: int, bias: int):
    R, r = network.readout
    readout = (np.broadcast_to(base + network.scale_of_unit[:, None], R.shape), np.full(r.shape, bias))
    hidden = jax.tree.map(lambda leaf: np.full(leaf.shape, FROZEN), network.hidden)
    return eqx.tree_at(lambda n: (n.hidden, n.readout), network, (hidden, readout))
