"""W: an antisymmetric matrix field, and its divergence."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Matrix, State
from .groups import FREE, FROZEN, Groups, all_of, by_scale, of_network
from .network import Network
from .potential import AbstractPotential

# In kT above the level of the data: how far W grows with e^V.
HIGHEST = 4.0


class AbstractCirculation(eqx.Module):
    """W(z) = -W(z)^T."""

    @abc.abstractmethod
    def __call__(self, z: State) -> Matrix:
        """W(z)."""

    @abc.abstractmethod
    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """W(z), and (div W)_i = sum_j d_j W_ij."""

    @abc.abstractmethod
    def starting_at(self, circulation: Matrix) -> "AbstractCirculation":
        """The same field with weights such that W(z) is this constant, as far as it can be."""

    @abc.abstractmethod
    def coefficient_groups(self, groups: Groups) -> "AbstractCirculation":
        """The same tree with every array replaced by the groups of its entries."""


class FieldCirculation(AbstractCirculation):
    """W(z) = sum_p H_p(z) (e_a e_b^T - e_b e_a^T) over a fixed list of coordinate pairs p = (a, b).

    The pairs (d, d + 1) give the paper's tridiagonal form; all pairs a < b give every antisymmetric W.
    """

    network: Network
    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __call__(self, z: State) -> Matrix:
        """W(z)."""
        return _weighted_sum(_basis(self.pairs, len(z)), self.network(z))

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """W = sum_p basis_p H_p, and (div W)_i = sum_jp basis_ijp d_j H_p."""
        basis = _basis(self.pairs, len(z))
        H, div_W = self.network.with_derivatives(z, basis)
        return _weighted_sum(basis, H), div_W

    def starting_at(self, circulation: Matrix) -> "FieldCirculation":
        """Constant W from the last layer's bias; entries outside the pairs are left out."""
        a, b = np.asarray(self.pairs).T
        return FieldCirculation(self.network.starting_at(circulation[a, b]), self.pairs)

    def coefficient_groups(self, groups: Groups) -> "FieldCirculation":
        """By the scales of units."""
        return by_scale(self, groups)


class ConstantCirculation(AbstractCirculation):
    """The same W everywhere, on a fixed list of coordinate pairs. div W = 0."""

    fields: Float[Array, " p"]
    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __call__(self, z: State) -> Matrix:
        """W. By indices: it is the same for all states, and its derivatives are looked up, not multiplied."""
        a, b = np.asarray(self.pairs).T
        upper = jnp.zeros((len(z), len(z)), z.dtype).at[a, b].set(self.fields.astype(z.dtype))
        return upper - upper.T

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """W, and zero."""
        return self(z), jnp.zeros_like(z)

    def starting_at(self, circulation: Matrix) -> "ConstantCirculation":
        """This W; entries outside the pairs are left out."""
        a, b = np.asarray(self.pairs).T
        return ConstantCirculation(circulation[a, b], self.pairs)

    def coefficient_groups(self, groups: Groups) -> "ConstantCirculation":
        """No prior."""
        return by_scale(self, groups)


class PlaneCirculation(AbstractCirculation):
    """W(z) = W_0 + sum_k h_k(z) (a_k b_k^T - b_k a_k^T): a full constant part, and fields in drawn planes.

    For many dimensions: as many fields as there are planes, instead of D (D - 1) / 2.
    """

    constant: ConstantCirculation
    network: Network
    planes: Float[Array, "2 D k"]

    def __call__(self, z: State) -> Matrix:
        """W(z)."""
        return self.constant(z) + self._in_planes(self.network(z))

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """div W = sum_k a_k (b_k . grad h_k) - b_k (a_k . grad h_k)."""
        a, b = self.planes
        h, (along_a, along_b) = self.network.with_own_derivatives(z, a, b)
        return self.constant(z) + self._in_planes(h), a @ along_b - b @ along_a

    def starting_at(self, circulation: Matrix) -> "PlaneCirculation":
        """W_0 = circulation, h = 0."""
        still = self.network.starting_at(jnp.zeros(self.planes.shape[-1]))
        return PlaneCirculation(self.constant.starting_at(circulation), still, self.planes)

    def coefficient_groups(self, groups: Groups) -> "PlaneCirculation":
        """The network's bias would repeat the constant beside it."""
        labelled = by_scale(self, groups, bias=FROZEN)
        return eqx.tree_at(lambda n: n.planes, labelled, np.full(self.planes.shape, FROZEN))

    def _in_planes(self, h: Float[Array, " k"]) -> Matrix:
        # One product minus its transpose: antisymmetric to the last bit, whatever a and b are.
        a, b = self.planes
        half = (a * h) @ b.T
        return half - half.T


class CurrentCirculation(AbstractCirculation):
    """W(z) = A(z) + g(z) B(z), g = 1 / (e^-x + e^(x - 8)), x = U(z) - u: fields, and those of a current.

    e^-V f_irr = div(e^-V W): if W = e^V B the current is div B, whatever V is. A current that goes round a
    hill or along a valley has a plain B, but a W that grows like e^V up the hill, which a few bounded units
    cannot follow. U is a first estimate of V that stays as it is, u its level among the data. From four kT
    above it g falls again: out there, where V is steep and few data are, the currents are next to nothing,
    and a B that is not quite flat would be a storm.

    A constant B drives nothing where U = V; it is left at zero.
    """

    fields: FieldCirculation
    currents: FieldCirculation
    reference: AbstractPotential
    level: Float[Array, " 1"]

    def __call__(self, z: State) -> Matrix:
        """W(z)."""
        return self.fields(z) + self._growth(self.reference(z) - self.level[0])[0] * self.currents(z)

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """div W = div A + g div B + B grad g, grad g = -g tanh(x - 4) grad U."""
        A, div_A = self.fields.with_divergence(z)
        B, div_B = self.currents.with_divergence(z)
        g, slope = self._growth(self.reference(z) - self.level[0])
        return A + g * B, div_A + g * div_B + slope * B @ self.reference.gradient(z)

    def starting_at(self, circulation: Matrix) -> "CurrentCirculation":
        """A = circulation, B = 0."""
        still = self.currents.starting_at(0 * circulation)
        return CurrentCirculation(self.fields.starting_at(circulation), still, self.reference, self.level)

    def referring_to(self, potential: AbstractPotential, level: Array) -> "CurrentCirculation":
        """The same fields with another U."""
        return CurrentCirculation(self.fields, self.currents, potential, level)

    def coefficient_groups(self, groups: Groups) -> "CurrentCirculation":
        """A constant field of a current drives nothing; what it refers to stays as it is."""
        A, B = self.fields.network, self.currents.network
        parts = (
            of_network(A, groups.of_scales(A.scales), FREE),
            of_network(B, groups.of_scales(B.scales), FROZEN),
        )
        still = all_of(self, FROZEN)
        return eqx.tree_at(lambda n: (n.fields.network, n.currents.network), still, parts)

    @staticmethod
    def _growth(x: Array) -> tuple[Array, Array]:
        """g and dg/dx."""
        beyond = x - HIGHEST
        log_g = HIGHEST - jnp.abs(beyond) - jax.nn.softplus(-2 * jnp.abs(beyond))
        g = jnp.exp(log_g)
        return g, -g * jnp.tanh(beyond)


class NoCirculation(AbstractCirculation):
    """W = 0: one dimension, or an equilibrium model."""

    def __call__(self, z: State) -> Matrix:
        """Zero."""
        return jnp.zeros((len(z), len(z)), z.dtype)

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """Zero, and zero."""
        return self(z), jnp.zeros_like(z)

    def starting_at(self, circulation: Matrix) -> "NoCirculation":
        """Nothing to set."""
        return self

    def coefficient_groups(self, groups: Groups) -> "NoCirculation":
        """There are none."""
        return self


def _weighted_sum(basis: Float[np.ndarray, "D D p"], H: Float[Array, " p"]) -> Matrix:
    # By a matrix product: scattering into small arrays is slow on a CPU.
    return (H @ basis.reshape(-1, len(H)).T).reshape(basis.shape[:2])


def _basis(pairs: tuple[tuple[int, int], ...], dimension: int) -> Float[np.ndarray, "D D p"]:
    """e_a e_b^T - e_b e_a^T for every pair, the pairs last."""
    a, b = np.asarray(pairs).T
    unit = np.eye(dimension, dtype=np.float32)
    upper = unit[:, None, a] * unit[None, :, b]
    return upper - upper.transpose(1, 0, 2)
