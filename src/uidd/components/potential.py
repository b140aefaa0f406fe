"""V: a scalar field with integrable e^-V."""

import abc
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from .bumps import Bumps
from .mixture import Mixture
from .network import Network
from .polynomial import Polynomial

# Variance of a well, relative to the base's.
WIDEST = 0.95


class AbstractPotential(eqx.Module):
    """V(z), bounded below by a quadratic."""

    @property
    @abc.abstractmethod
    def minimal_stiffness(self) -> float:
        """Every Hessian that `starting_at` can represent exceeds this number."""

    @abc.abstractmethod
    def __call__(self, z: State) -> Scalar:
        """V(z)."""

    def gradient(self, z: State) -> State:
        """grad V(z)."""
        return jax.grad(self)(z)

    @abc.abstractmethod
    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "AbstractPotential":
        """The same potential with weights such that V = (z - mean)^T stiffness (z - mean) / 2."""


class SumOfSquaresPotential(AbstractPotential):
    """V(z) = b1/2 sum_i (U_i(z) + b2 sum_j g_ij z_j)^2 + b3 |z|^2, the paper's form.

    V >= b3 |z|^2, so e^-V is integrable whatever the weights.
    """

    network: Network
    slopes: Float[Array, "m D"]
    b1: float = eqx.field(static=True)
    b2: float = eqx.field(static=True)
    b3: float = eqx.field(static=True)

    @property
    def minimal_stiffness(self) -> float:
        """2 b3, the stiffness left when every square vanishes."""
        return 2 * self.b3

    def __call__(self, z: State) -> Scalar:
        """V(z)."""
        u = self.network(z) + self.b2 * self.slopes @ z
        return self.b1 / 2 * jnp.dot(u, u) + self.b3 * jnp.dot(z, z)

    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "SumOfSquaresPotential":
        """Weights for the quadratic V = (z - mean)^T stiffness (z - mean) / 2, up to a constant.

        With b1 b2^2 g^T g + 2 b3 = stiffness the Hessian is right, and the constant U = c solves
        b1 b2 g^T (c + b2 g mean) + 2 b3 mean = 0. The root g is turned by a random rotation of R^m: a
        component that starts at zero would stay there, because V depends on its square.
        """
        count, dimension = self.slopes.shape
        values, vectors = jnp.linalg.eigh(stiffness - 2 * self.b3 * jnp.eye(dimension))
        root = (vectors * jnp.sqrt(jnp.maximum(values, 1e-6))).T / (self.b2 * self.b1**0.5)
        frame, _ = jnp.linalg.qr(jax.random.normal(key, (count, dimension)))
        slopes = frame @ root
        shift = jnp.linalg.solve(root.T, mean) * (2 * self.b3 / (self.b1 * self.b2))
        constant = -self.b2 * slopes @ mean - frame @ shift
        network = self.network.starting_at(constant)
        return eqx.tree_at(lambda p: (p.network, p.slopes), self, (network, slopes))


class QuadraticPotential(AbstractPotential):
    """V(z) = z^T S z / 2 + c . z + p(z) + u(z) + b(z) + m(z), or the first two terms alone.

    The first two are the potential of a linear system. The others bend it: a polynomial p of fourth degree
    that levels off outside of the data, a bounded network u, bumps b, and wells m. Where they are present
    S, which is positive definite, and c stay as they are: S outgrows all other terms, so e^-V is integrable
    whatever their weights. These enter V linearly, so a few Gauss-Newton steps find them.
    """

    stiffness: Matrix
    slope: State
    polynomial: Polynomial | None
    network: Network | None
    bumps: Bumps | None
    mixture: Mixture | None
    least: float = eqx.field(static=True)

    @property
    def minimal_stiffness(self) -> float:
        """Keeps S away from zero."""
        return self.least

    @property
    def _symmetric(self) -> Matrix:
        """S. Its lower triangle alone counts, so that nothing is counted twice."""
        return jnp.tril(self.stiffness) + jnp.tril(self.stiffness, -1).T

    def __call__(self, z: State) -> Scalar:
        """V(z)."""
        V = z @ self._symmetric @ z / 2 + jnp.dot(self.slope, z)
        if self.network is None or self.polynomial is None or self.bumps is None or self.mixture is None:
            return V
        bent = self.polynomial(z) + self.network(z)[0] + self.bumps(z)
        return V + bent + self.mixture(z, V)

    def gradient(self, z: State) -> State:
        """grad V; a test compares it to `jax.grad`."""
        dV = self._symmetric @ z + self.slope
        if self.network is None or self.polynomial is None or self.bumps is None or self.mixture is None:
            return dV
        _, du = self.network.with_jacobian(z)
        bent = self.polynomial.gradient(z) + du[:, 0] + self.bumps.gradient(z)
        return dV + bent + self.mixture.gradient(z, jnp.dot(dV + self.slope, z) / 2, dV)

    def with_wells(
        self, weights: np.ndarray, centers: np.ndarray, covariances: np.ndarray
    ) -> "QuadraticPotential":
        """The same with these Gaussians in its mixture, whose share is zero.

        One that is wider than e^(-z^T S z / 2) in some direction would grow against it without bound: it is
        made narrower.
        """
        if self.mixture is None:
            return self
        S, c = np.asarray(self._symmetric, np.float64), np.asarray(self.slope, np.float64)
        L = np.linalg.cholesky(S)
        widths, axes = np.linalg.eigh(L.T @ covariances @ L)
        narrow = axes * np.minimum(widths, WIDEST)[:, None] @ axes.transpose(0, 2, 1)
        covariances = np.linalg.solve(L.T, np.linalg.solve(L.T, narrow).transpose(0, 2, 1))
        # Up to (2 pi)^(D/2) the first two terms and this are minus the logarithm of a Gaussian.
        rest = c @ np.linalg.solve(S, c) / 2 - np.linalg.slogdet(S)[1] / 2
        return eqx.tree_at(
            lambda p: p.mixture, self, self.mixture.of(weights, centers, covariances, log_factor=float(rest))
        )

    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "QuadraticPotential":
        """S = stiffness and c = -S mean; nothing bends."""
        polynomial = None if self.polynomial is None else Polynomial.zero(len(mean))
        network = self.network and self.network.starting_at(jnp.zeros(1))
        bumps = self.bumps and eqx.tree_at(lambda b: b.heights, self.bumps, 0 * self.bumps.heights)
        mixture = self.mixture and Mixture.absent(len(mean), len(self.mixture.offsets))
        parts = (polynomial, network, bumps, mixture)
        return QuadraticPotential(stiffness, -stiffness @ mean, *parts, self.least)


@dataclass(frozen=True)
class Quadratic:
    """Specification of `QuadraticPotential`: a network of `width` units at `scales`, bumps and wells.

    With a width of 0 the quadratic alone is left.
    """

    width: int = 64
    scales: tuple[float, ...] = (1.0,)
    least: float = 1e-3
    bumps: int = 192
    bump_scale: float = 3.0
    wells: int = 8

    @property
    def plain(self) -> "Quadratic":
        """Without what bends it."""
        return Quadratic(0, (), self.least)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> QuadraticPotential:
        """The unit matrix, and units whose readout is zero."""
        S, c = jnp.eye(dimension), jnp.zeros(dimension)
        if not self.width:
            return QuadraticPotential(S, c, None, None, None, None, self.least)
        network = Network.drawn(dimension, 1, self.width, self.scales, dense=True, key=key)
        bumps = Bumps.drawn(dimension, self.bumps, self.bump_scale)
        parts = (Polynomial.zero(dimension), network, bumps, Mixture.absent(dimension, self.wells))
        return QuadraticPotential(S, c, *parts, self.least)


@dataclass(frozen=True)
class SumOfSquares:
    """Specification of `SumOfSquaresPotential`; defaults are the paper's for SGLD."""

    components: int = 32
    widths: tuple[int, ...] = (128,)
    activation: str = "tanh"
    b1: float = 1.0
    b2: float = 1.0
    b3: float = 1e-3

    @property
    def plain(self) -> Quadratic:
        """The quadratic that is left without U."""
        return Quadratic(0, (), 2 * self.b3)

    def build(self, dimension: int, *, key: PRNGKeyArray) -> SumOfSquaresPotential:
        """Random weights for a state of `dimension` coordinates."""
        network_key, slope_key = jax.random.split(key)
        count = max(self.components, dimension)
        return SumOfSquaresPotential(
            network=Network(dimension, count, self.widths, self.activation, key=network_key),
            slopes=jax.random.normal(slope_key, (count, dimension)) / count**0.5,
            b1=self.b1,
            b2=self.b2,
            b3=self.b3,
        )
