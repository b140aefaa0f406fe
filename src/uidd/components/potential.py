"""V: a scalar field with integrable e^-V."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import Matrix, Scalar, State
from .bumps import Bumps
from .groups import FREE, FROZEN, Groups, all_of, by_scale, of_network
from .mixture import Mixture
from .network import Network
from .polynomial import Polynomial

# Variance of a well, relative to the base's.
WIDEST = 0.95
# Usual precisions of priors: of readouts and bumps at scale one, which are some tens of kT; of terms of a
# polynomial, some kT; of the wells' share, about one; of their depths, some kT.
READOUTS, TERMS, SHARE, DEPTHS = 1e-3, 1e-2, 1.0, 1e-1


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

    @abc.abstractmethod
    def coefficient_groups(self, groups: Groups) -> "AbstractPotential":
        """The same tree with every array replaced by the groups of its entries."""


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

    def coefficient_groups(self, groups: Groups) -> "SumOfSquaresPotential":
        """By the scales of units; V is quadratic in these."""
        return by_scale(self, groups, usual=READOUTS)


class NonlinearPart(eqx.Module):
    """p(z) + u(z) + b(z) + m(z): what a potential has beside a quadratic.

    A polynomial p of fourth degree that levels off outside of the data, a bounded network u, bumps b, and
    wells m. All of these enter V linearly, so a few Gauss-Newton steps find them.
    """

    polynomial: Polynomial
    network: Network
    bumps: Bumps
    mixture: Mixture

    def __call__(self, z: State, base: Scalar) -> Scalar:
        """Of a state, and of the quadratic there."""
        return self.polynomial(z) + self.network(z)[0] + self.bumps(z) + self.mixture(z, base)

    def gradient(self, z: State, base: Scalar, slope: State) -> State:
        """The gradient; wells need the quadratic's value and slope, too."""
        _, du = self.network.with_jacobian(z)
        own = self.polynomial.gradient(z) + du[:, 0] + self.bumps.gradient(z)
        return own + self.mixture.gradient(z, base, slope)

    def at_zero(self, dimension: int) -> "NonlinearPart":
        """The same units without weight."""
        return NonlinearPart(
            Polynomial.zero(dimension),
            self.network.starting_at(jnp.zeros(1)),
            eqx.tree_at(lambda b: b.heights, self.bumps, 0 * self.bumps.heights),
            Mixture.absent(dimension, len(self.mixture.offsets)),
        )

    def coefficient_groups(self, groups: Groups) -> "NonlinearPart":
        """Units by scale; terms by degree, powers of one coordinate apart from products, which are less
        likely; bumps; the wells' share, and their depths. A network's bias would add a constant to V.
        """
        network = of_network(self.network, groups.of_scales(self.network.scales, READOUTS), FROZEN)
        terms = []
        for products in self.polynomial.mixed:
            kinds, which = np.unique(products, return_inverse=True)
            terms.append(groups.more(*[TERMS] * len(kinds))[which])
        polynomial = eqx.tree_at(lambda p: (p.cubic, p.quartic), all_of(self.polynomial, FREE), tuple(terms))
        if self.polynomial.frame is not None:
            frame = np.full(self.polynomial.frame.shape, FROZEN)
            polynomial = eqx.tree_at(lambda p: p.frame, polynomial, frame)
        (of_bumps,) = groups.more(READOUTS * self.bumps.scale**4)
        (of_share, of_depths) = groups.more(SHARE, DEPTHS)
        bumps = eqx.tree_at(
            lambda b: b.heights, all_of(self.bumps, FROZEN), np.full(self.bumps.heights.shape, of_bumps)
        )
        wells = (
            np.full(self.mixture.share.shape, of_share), np.full(self.mixture.offsets.shape, of_depths),
        )  # fmt: skip
        mixture = eqx.tree_at(lambda m: (m.share, m.offsets), all_of(self.mixture, FROZEN), wells)
        return NonlinearPart(polynomial, network, bumps, mixture)


class QuadraticPotential(AbstractPotential):
    """V(z) = z^T S z / 2 + c . z, and a nonlinear part or none.

    The first two terms are the potential of a linear system. Beside a nonlinear part S, which is positive
    definite, and c stay as they are: S outgrows all other terms, so e^-V is integrable whatever their
    weights.
    """

    stiffness: Matrix
    slope: State
    nonlinear: NonlinearPart | None
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
        return V if self.nonlinear is None else V + self.nonlinear(z, V)

    def gradient(self, z: State) -> State:
        """grad V; a test compares it to `jax.grad`."""
        dV = self._symmetric @ z + self.slope
        if self.nonlinear is None:
            return dV
        return dV + self.nonlinear.gradient(z, jnp.dot(dV + self.slope, z) / 2, dV)

    def with_wells(
        self, weights: np.ndarray, centers: np.ndarray, covariances: np.ndarray
    ) -> "QuadraticPotential":
        """The same with these Gaussians in its mixture, whose share is zero.

        One that is wider than e^(-z^T S z / 2) in some direction would grow against it without bound: it is
        made narrower.
        """
        if self.nonlinear is None:
            return self
        S, c = np.asarray(self._symmetric, np.float64), np.asarray(self.slope, np.float64)
        L = np.linalg.cholesky(S)
        widths, axes = np.linalg.eigh(L.T @ covariances @ L)
        narrow = axes * np.minimum(widths, WIDEST)[:, None] @ axes.transpose(0, 2, 1)
        covariances = np.linalg.solve(L.T, np.linalg.solve(L.T, narrow).transpose(0, 2, 1))
        # Up to (2 pi)^(D/2) the first two terms and this are minus the logarithm of a Gaussian.
        rest = c @ np.linalg.solve(S, c) / 2 - np.linalg.slogdet(S)[1] / 2
        mixture = self.nonlinear.mixture.of(weights, centers, covariances, log_factor=float(rest))
        return eqx.tree_at(lambda p: p.nonlinear.mixture, self, mixture)

    def starting_at(self, stiffness: Matrix, mean: State, *, key: PRNGKeyArray) -> "QuadraticPotential":
        """S = stiffness and c = -S mean, and nothing else."""
        nonlinear = self.nonlinear and self.nonlinear.at_zero(len(mean))
        return QuadraticPotential(stiffness, -stiffness @ mean, nonlinear, self.least)

    def coefficient_groups(self, groups: Groups) -> "QuadraticPotential":
        """S and c are free where they are alone."""
        if self.nonlinear is None:
            return all_of(self, FREE)
        labelled = self.nonlinear.coefficient_groups(groups)
        return eqx.tree_at(lambda p: p.nonlinear, all_of(self, FROZEN), labelled)
