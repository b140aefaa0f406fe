"""Shapes of V in coordinates u of unit size: one class a shape, drawn from a generator."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import Scalar, State

# In kT: barriers and hills are drawn between these.
DEPTHS = 1.0, 8.0


class AbstractLandscape(eqx.Module):
    """V(u), and some places from which every well can be reached."""

    @abc.abstractmethod
    def __call__(self, u: State) -> Scalar:
        """V(u)."""

    @abc.abstractmethod
    def places(self) -> np.ndarray:
        """States `(n, D)`, one at least in or beside every well."""


class Wells(AbstractLandscape):
    """V = -log sum_k a_k exp(-sum_d p_kd (u_d - c_kd)^2 / 2): one to four wells; one alone is a bowl.

    Two round wells at a distance d have a barrier of about d^2 / 8 - log 2 between them.
    """

    centers: Float[Array, "k D"]
    precisions: Float[Array, "k D"]
    weights: Float[Array, " k"]

    @classmethod
    def drawn(cls, generator: np.random.Generator, dimension: int, depth: float, count: int) -> "Wells":
        """Wells one after the other, each at about the same distance from the one before."""
        apart = np.sqrt(8 * (depth + np.log(2)))
        centers = [np.zeros(dimension)]
        while len(centers) < count:
            way = generator.standard_normal(dimension)
            place = centers[-1] + apart * way / np.linalg.norm(way)
            if dimension == 1 or min(np.linalg.norm(place - c) for c in centers) > 0.9 * apart:
                centers.append(place)
        widths = generator.uniform(0.75, 1.3, (count, dimension))
        weights = generator.uniform(0.4, 1.0, count) / widths.prod(axis=1)
        c = np.stack(centers) - np.mean(centers, axis=0)
        return cls(*(jnp.asarray(part) for part in (c, widths**-2, np.log(weights))))

    def __call__(self, u: State) -> Scalar:
        """V(u)."""
        return -jax.nn.logsumexp(
            self.weights - jnp.sum(self.precisions * (u - self.centers) ** 2, axis=1) / 2
        )

    def places(self) -> np.ndarray:
        """The centers, and around them."""
        c = np.asarray(self.centers)
        width = np.asarray(self.precisions) ** -0.5
        return np.concatenate([c, c + width, c - width])


class Ring(AbstractLandscape):
    """V = h (u_1^2 + u_2^2 - 1)^2 + sum_(d > 2) k_d u_d^2 / 2: a circular valley around a hill of h kT."""

    height: Float[Array, ""]
    stiffness: Float[Array, " D"]

    @classmethod
    def drawn(cls, generator: np.random.Generator, dimension: int, depth: float) -> "Ring":
        """A hill as high as `depth`."""
        stiffness = generator.uniform(1.0, 6.0, dimension)
        stiffness[:2] = 0.0
        return cls(jnp.asarray(depth), jnp.asarray(stiffness))

    def __call__(self, u: State) -> Scalar:
        """V(u)."""
        return self.height * (u[0] ** 2 + u[1] ** 2 - 1) ** 2 + jnp.sum(self.stiffness * u**2) / 2

    def places(self) -> np.ndarray:
        """Around the ring."""
        angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        found = np.zeros((16, len(self.stiffness)))
        found[:, 0], found[:, 1] = np.cos(angle), np.sin(angle)
        return found


class Channel(AbstractLandscape):
    """V = h (u_1^2 - 1)^2 + t u_1 + sum_(d > 1) k_d (1 + a tanh 2 u_1) u_d^2 / 2.

    Two wells, the second less deep, and walls whose stiffness changes on the way from one to the other.
    """

    height: Float[Array, ""]
    tilt: Float[Array, ""]
    stiffness: Float[Array, " D"]
    change: Float[Array, ""]

    @classmethod
    def drawn(cls, generator: np.random.Generator, dimension: int, depth: float) -> "Channel":
        """A barrier of about `depth`."""
        stiffness = generator.uniform(1.0, 6.0, dimension)
        stiffness[0] = 0.0
        tilt, change = generator.uniform(0.0, 0.4), generator.uniform(-0.7, 0.7)
        return cls(*(jnp.asarray(part) for part in (depth, tilt, stiffness, change)))

    def __call__(self, u: State) -> Scalar:
        """V(u)."""
        walls = jnp.sum(self.stiffness * u**2) / 2 * (1 + self.change * jnp.tanh(2 * u[0]))
        return self.height * (u[0] ** 2 - 1) ** 2 + self.tilt * u[0] + walls

    def places(self) -> np.ndarray:
        """Both wells."""
        found = np.zeros((2, len(self.stiffness)))
        found[:, 0] = 1.0, -1.0
        return found


class Chain(AbstractLandscape):
    """V = sum_d q_d u_d^4 / 4 + t . u + c sum_d (u_d - u_(d+1))^2 / 2: flat bottoms, neighbours coupled."""

    quartic: Float[Array, " D"]
    tilt: Float[Array, " D"]
    coupling: Float[Array, ""]

    @classmethod
    def drawn(cls, generator: np.random.Generator, dimension: int, depth: float) -> "Chain":
        """Steeper with `depth`."""
        quartic = depth * generator.uniform(0.5, 1.0, dimension)
        tilt = generator.uniform(-0.5, 0.5, dimension)
        return cls(*(jnp.asarray(part) for part in (quartic, tilt, generator.uniform(0.0, 3.0))))

    def __call__(self, u: State) -> Scalar:
        """V(u)."""
        springs = self.coupling * jnp.sum((u[1:] - u[:-1]) ** 2) / 2
        return jnp.sum(self.quartic * u**4) / 4 + jnp.dot(self.tilt, u) + springs

    def places(self) -> np.ndarray:
        """Around the middle."""
        D = len(self.quartic)
        return 0.5 * np.concatenate([np.zeros((1, D)), np.eye(D), -np.eye(D)])


class Slopes(AbstractLandscape):
    """V = sum_d a_d (e^-u_d + u_d) + c sum_d (u_d - u_(d+1))^2 / 2: a wall and a slope."""

    steepness: Float[Array, " D"]
    coupling: Float[Array, ""]

    @classmethod
    def drawn(cls, generator: np.random.Generator, dimension: int, depth: float) -> "Slopes":
        """Walls up to `depth` times as steep as the gentlest slope."""
        steepness = generator.uniform(1.0, max(depth, 1.5), dimension)
        return cls(jnp.asarray(steepness), jnp.asarray(generator.uniform(0.0, 1.0)))

    def __call__(self, u: State) -> Scalar:
        """V(u)."""
        springs = self.coupling * jnp.sum((u[1:] - u[:-1]) ** 2) / 2
        return jnp.sum(self.steepness * (jnp.exp(-u) + u)) + springs

    def places(self) -> np.ndarray:
        """Around the minimum."""
        D = len(self.steepness)
        return 0.5 * np.concatenate([np.zeros((1, D)), np.eye(D), -np.eye(D)])


def draw_landscape(generator: np.random.Generator, dimension: int) -> tuple[str, float, AbstractLandscape]:
    """Its kind, its depth in kT, and the landscape."""
    kinds = ["bowl", "wells", "channel", "chain", "slopes"] + (["ring"] if dimension > 1 else [])
    kind, depth = str(generator.choice(kinds)), float(generator.uniform(*DEPTHS))
    if kind == "bowl":
        return kind, 0.0, Wells.drawn(generator, dimension, depth, 1)
    if kind == "wells":
        count = int(generator.integers(2, 4 if dimension == 1 else 5))
        return kind, depth, Wells.drawn(generator, dimension, depth, count)
    shape = {"channel": Channel, "chain": Chain, "slopes": Slopes, "ring": Ring}[kind]
    return kind, depth, shape.drawn(generator, dimension, depth)
