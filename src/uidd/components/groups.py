"""Which weights of a component enter the drift (almost) linearly, and which of these share a prior."""

from typing import TypeVar

import equinox as eqx
import jax
import numpy as np

from .network import Network

T = TypeVar("T")
# Weights that stay as they are, and coefficients without a prior.
FROZEN, FREE = -2, -1


class Groups:
    """Groups of coefficients, each with one prior N(0, 1 / precision), which the data choose.

    Attributes:
        precisions: What is usual for each, before any data are seen. States are of unit size.
    """

    def __init__(self):
        self.precisions: list[float] = []

    def __len__(self) -> int:
        return len(self.precisions)

    def more(self, *precisions: float) -> np.ndarray:
        """Numbers of new groups."""
        first = len(self)
        self.precisions += precisions
        return np.arange(first, len(self))

    def of_scales(self, scales: tuple[float, ...], usual: float = 1.0) -> np.ndarray:
        """One for each scale of drawn units. At scale one readouts are about usual^(-1/2); at others they go
        as 1 / scale^2, so that a field is curved as much.
        """
        return self.more(*(usual * float(scale) ** 4 for scale in scales))


def all_of(tree: T, label: int) -> T:
    """The same tree with every array replaced by this label."""
    return jax.tree.map(lambda leaf: np.full(leaf.shape, label), tree)


def of_network(network: Network, numbers: np.ndarray, bias: int = FREE) -> Network:
    """Readouts by the scale of their unit, `numbers` one for each; hidden layers stay as they are."""
    R, r = network.readout
    readout = (np.broadcast_to(numbers[network.scale_of_unit][:, None], R.shape), np.full(r.shape, bias))
    return eqx.tree_at(lambda n: (n.hidden, n.readout), network, (all_of(network.hidden, FROZEN), readout))


def by_scale(component: T, groups: Groups, *, usual: float = 1.0, bias: int = FREE) -> T:
    """All networks by the scales of their units, which they share; all other arrays are free."""
    networks = [n for n in jax.tree.leaves(component, is_leaf=_is_network) if _is_network(n)]
    numbers = groups.of_scales(networks[0].scales, usual) if networks else np.zeros(0, int)
    return jax.tree.map(
        lambda node: of_network(node, numbers, bias) if _is_network(node) else np.full(node.shape, FREE),
        component,
        is_leaf=_is_network,
    )


def _is_network(node) -> bool:
    return isinstance(node, Network)
