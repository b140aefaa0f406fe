"""sigma: a lower triangular matrix field with positive diagonal, and div M for M = sigma sigma^T / 2."""

import abc
from dataclasses import dataclass
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import one_of
from .._types import Matrix, State
from .groups import FREE, FROZEN, Groups, all_of, by_scale, of_network
from .network import Network
from .specification import AbstractSpecification, check_layers, check_units

# Of drawn fields, whose number and that of their units multiply.
MOST_READOUTS = 384


def positive_part(s: Array) -> Array:
    """(sqrt(s^2 + 1) + s) / 2 > 0, the paper's map to positive numbers."""
    # For s < 0 the sum cancels; its product with (sqrt(s^2 + 1) - s) is one.
    root = jnp.sqrt(s**2 + 1)
    return jnp.where(s >= 0, (root + s) / 2, 0.5 / (root - jnp.minimum(s, 0.0)))


def positive_part_inverse(y: Array) -> Array:
    """The s with positive_part(s) = y, which is y - 1 / (4 y)."""
    return y - 0.25 / y


class AbstractDiffusion(eqx.Module):
    """sigma(z), lower triangular with positive diagonal."""

    @abc.abstractmethod
    def __call__(self, z: State) -> Matrix:
        """sigma(z)."""

    @abc.abstractmethod
    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """sigma(z), and (div M)_i = sum_j d_j M_ij for M = sigma sigma^T / 2."""

    @abc.abstractmethod
    def starting_at(self, sigma: Matrix) -> "AbstractDiffusion":
        """The same field with weights such that sigma(z) is this constant, as far as it can be."""

    @abc.abstractmethod
    def coefficient_groups(self, groups: Groups) -> "AbstractDiffusion":
        """The same tree with every array replaced by the groups of its entries."""


class TriangularDiffusion(AbstractDiffusion):
    """sigma(z) = strictly lower triangular net + diag(positive_part(net)), the paper's form."""

    strict: Network | None
    diagonal: Network

    def __call__(self, z: State) -> Matrix:
        """sigma(z)."""
        below = None if self.strict is None else self.strict(z)
        return _assemble(positive_part(self.diagonal(z)), below)

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """div M by the product rule, column by column; M itself is never differentiated.

        2 (div M)_i = sum_k (sigma_k . grad) sigma_ik + sum_k sigma_ik div sigma_k, with sigma_k the
        k-th column.
        """
        raw, raw_jacobian = self.diagonal.with_jacobian(z)
        diagonal, slope = jax.jvp(positive_part, (raw,), (jnp.ones_like(raw),))
        # The diagonal entry (k, k) only varies in row and column k.
        jacobian = raw_jacobian * slope
        own = jnp.sum(jacobian * np.eye(len(z), dtype=z.dtype), axis=0)
        if self.strict is None:
            return _assemble(diagonal, None), diagonal * own
        below, hidden = self.strict.with_hidden_jacobian(z)
        sigma = _assemble(diagonal, below)
        # The entry (i, k) is R_ik . (hidden layer) + const: d_j sigma_ik = R_ik . hidden_j.
        R = jnp.einsum("ike,he->ikh", _places(len(z)), self.strict.readout[0])
        along = jnp.sum(sigma * jacobian, axis=0) + _contract(R, sigma.T @ hidden)
        own = own + _contract(jnp.swapaxes(R, 0, 1), hidden)
        return sigma, (along + sigma @ own) / 2

    def starting_at(self, sigma: Matrix) -> "TriangularDiffusion":
        """Constant sigma from the last layers' biases."""
        diagonal = self.diagonal.starting_at(positive_part_inverse(jnp.diag(sigma)))
        strict = self.strict and self.strict.starting_at(sigma[np.tril_indices(len(sigma), -1)])
        return TriangularDiffusion(strict=strict, diagonal=diagonal)

    def coefficient_groups(self, groups: Groups) -> "TriangularDiffusion":
        """By the scales of units."""
        return by_scale(self, groups)


class ScaledDiffusion(AbstractDiffusion):
    """sigma(z) = diag(s(n(z))) L with a constant L: D fields instead of D (D + 1) / 2.

    The correlations of the noise are the same everywhere; its strengths vary. s(n) = n + sqrt(n^2 + 1) is one
    at n = 0, positive, and linear where the noise is strong: an exponential would overshoot when it is
    learned.
    """

    factor: "ConstantDiffusion"
    network: Network

    def __call__(self, z: State) -> Matrix:
        """sigma(z)."""
        return 2 * positive_part(self.network(z))[:, None] * self.factor(z)

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """(div M)_i = s_i sum_j Q_ij s_j d_j log(s_i s_j); Q = L L^T / 2, d log s = dn / sqrt(n^2 + 1)."""
        n, J = self.network.with_jacobian(z)
        s, L = 2 * positive_part(n), self.factor(z)
        Q, scaled = L @ L.T / 2, s[:, None] * J / jnp.sqrt(n**2 + 1)
        own = jnp.sum(scaled * np.eye(len(z), dtype=z.dtype), axis=0)
        return s[:, None] * L, s * (jnp.sum(Q * scaled.T, axis=1) + Q @ own)

    def starting_at(self, sigma: Matrix) -> "ScaledDiffusion":
        """L = sigma, n = 0."""
        return ScaledDiffusion(
            self.factor.starting_at(sigma), self.network.starting_at(jnp.zeros(len(sigma)))
        )

    def coefficient_groups(self, groups: Groups) -> "ScaledDiffusion":
        """A constant factor times a field is a product without good steps: the bias is what varies, and of L
        the part that the strengths cannot make.
        """
        frozen = np.full(self.factor.diagonal.shape, FROZEN)
        factor = eqx.tree_at(lambda f: f.diagonal, all_of(self.factor, FREE), frozen)
        return ScaledDiffusion(factor, of_network(self.network, groups.of_scales(self.network.scales)))


class ConstantDiffusion(AbstractDiffusion):
    """The same sigma everywhere: full (lower triangular) or diagonal. div M = 0."""

    strict: Float[Array, " e"] | None
    diagonal: State

    def __call__(self, z: State) -> Matrix:
        """sigma. By indices: it is the same for all states, and its derivatives are looked up."""
        sigma = jnp.diag(positive_part(self.diagonal))
        if self.strict is None:
            return sigma
        return sigma.at[np.tril_indices(len(z), -1)].set(self.strict)

    def with_divergence(self, z: State) -> tuple[Matrix, State]:
        """sigma, and zero."""
        return self(z), jnp.zeros_like(z)

    def starting_at(self, sigma: Matrix) -> "ConstantDiffusion":
        """This sigma; the diagonal form keeps the diagonal of M."""
        if self.strict is None:
            variances = jnp.sum(sigma**2, axis=1)
            return ConstantDiffusion(None, positive_part_inverse(jnp.sqrt(variances)))
        strict = sigma[np.tril_indices(len(sigma), -1)]
        return ConstantDiffusion(strict, positive_part_inverse(jnp.diag(sigma)))

    def coefficient_groups(self, groups: Groups) -> "ConstantDiffusion":
        """No prior."""
        return by_scale(self, groups)


def _assemble(diagonal: State, below: Float[Array, " e"] | None) -> Matrix:
    """The lower triangular matrix. By matrix products: scattering into small arrays is slow on a CPU."""
    dimension = len(diagonal)
    sigma = diagonal * np.eye(dimension, dtype=diagonal.dtype)
    if below is None:
        return sigma
    places = _places(dimension).reshape(dimension * dimension, -1)
    return sigma + (below @ places.T.astype(below.dtype)).reshape(dimension, dimension)


def _contract(R: Float[Array, "D D h"], rows: Float[Array, "D h"]) -> State:
    """sum_kh R_ikh rows_kh, written as one product with a matrix that is the same for the whole batch."""
    return rows.reshape(-1) @ R.reshape(len(R), -1).T


def _places(dimension: int) -> Float[np.ndarray, "D D e"]:
    """Row and column of every strictly lower entry: e_i e_k^T, the entries last."""
    rows, columns = np.tril_indices(dimension, -1)
    unit = np.eye(dimension, dtype=np.float32)
    return unit[:, None, rows] * unit[None, :, columns]


class DiffusionSpecification(AbstractSpecification):
    """Of sigma."""

    @property
    @abc.abstractmethod
    def plain(self) -> "Constant":
        """The same noise everywhere."""

    @abc.abstractmethod
    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractDiffusion:
        """A sigma of `dimension` coordinates."""


@dataclass(frozen=True)
class Triangular(DiffusionSpecification):
    """Specification of `TriangularDiffusion`; defaults are the paper's for SGLD."""

    widths: tuple[int, ...] = (32, 32)
    activation: str = "tanh"
    trains_hidden_layers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_layers(self.widths, self.activation)

    @property
    def plain(self) -> "Constant":
        """The same noise everywhere."""
        return Constant("full")

    def build(self, dimension: int, *, key: PRNGKeyArray) -> TriangularDiffusion:
        """Random weights for a state of `dimension` coordinates."""
        strict_key, diagonal_key = jax.random.split(key)
        count = dimension * (dimension - 1) // 2
        return TriangularDiffusion(
            strict=Network.random(dimension, count, self.widths, self.activation, key=strict_key)
            if count
            else None,
            diagonal=Network.random(dimension, dimension, self.widths, self.activation, key=diagonal_key),
        )


@dataclass(frozen=True)
class Varying(DiffusionSpecification):
    """Specification of a sigma of drawn units: `TriangularDiffusion` in up to three dimensions, where all of
    sigma may vary, and `ScaledDiffusion` above, where its entries would be too many; beyond twelve with fewer
    units.
    """

    width: int = 48
    scales: tuple[float, ...] = (0.3, 1.0)
    trains_hidden_layers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_units(self.width, self.scales)

    @property
    def plain(self) -> "Constant":
        """The same noise everywhere."""
        return Constant("full")

    def build(self, dimension: int, *, key: PRNGKeyArray) -> AbstractDiffusion:
        """Drawn units with a zero readout."""
        width = max(1, min(self.width, MOST_READOUTS // dimension))
        counts = dimension, dimension * (dimension - 1) // 2
        diagonal, strict = (Network.drawn(dimension, n, width, self.scales) for n in counts)
        if dimension > 3:
            return ScaledDiffusion(Constant("full").build(dimension, key=key), diagonal)
        return TriangularDiffusion(strict=strict if dimension > 1 else None, diagonal=diagonal)


@dataclass(frozen=True)
class Constant(DiffusionSpecification):
    """Specification of `ConstantDiffusion`: `diagonal` (polymer) or `full` (linear case)."""

    shape: Literal["full", "diagonal"] = "full"
    trains_hidden_layers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("shape", self.shape, ("full", "diagonal"))

    @property
    def plain(self) -> "Constant":
        """Itself."""
        return self

    def build(self, dimension: int, *, key: PRNGKeyArray) -> ConstantDiffusion:
        """The unit matrix; nothing is random here."""
        count = dimension * (dimension - 1) // 2
        strict = jnp.zeros(count) if self.shape == "full" and count else None
        return ConstantDiffusion(strict, positive_part_inverse(jnp.ones(dimension)))
