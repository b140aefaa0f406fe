"""A feed-forward network that gives its Jacobian along with its value."""

from collections.abc import Sequence
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Float, PRNGKeyArray

from .._types import State
from .activations import activation


class Network(eqx.Module):
    """z -> phi(... phi(z A_1 + a_1) ...) R + r, a map from R^D to R^m.

    Matrices multiply from the right, `(in, out)`: mapped over a batch, every layer is one matrix product
    in the layout the data have.
    """

    hidden: tuple[tuple[Array, Array], ...]
    readout: tuple[Array, Array]
    activation: str = eqx.field(static=True)
    scales: tuple[float, ...] = eqx.field(static=True)

    @classmethod
    def random(
        cls, dimension: int, outputs: int, widths: Sequence[int], activation: str, *, key: PRNGKeyArray
    ) -> "Network":
        """Layers of random weights, all of which are to be trained."""
        sizes = [dimension, *widths, outputs]
        shapes = list(pairwise(sizes))
        # One draw for all layers: many small ones would take seconds to compile.
        draw = jax.random.uniform(key, (sum(a * b + b for a, b in shapes),), minval=-1.0, maxval=1.0)
        layers, used = [], 0
        for a, b in shapes:
            matrix, bias = draw[used : used + a * b], draw[used + a * b : used + a * b + b]
            layers.append((matrix.reshape(a, b) / a**0.5, bias / a**0.5))
            used += a * b + b
        *hidden, readout = layers
        return cls(tuple(hidden), readout, activation, (1.0,))

    @classmethod
    def drawn(
        cls, dimension: int, outputs: int, width: int, scales: Sequence[float], *, dense: bool = False
    ) -> "Network":
        """One hidden layer of tanh `steps`, the same every time, and a zero readout."""
        steps = cls.steps(dimension, width, scales, dense=dense)
        A, a = (jnp.asarray(part, jnp.result_type(float)) for part in steps)
        readout = jnp.zeros((width, outputs), A.dtype), jnp.zeros(outputs)
        return cls(((A, a),), readout, "tanh", tuple(scales))

    @classmethod
    def steps(
        cls, dimension: int, width: int, scales: Sequence[float], *, dense: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and a of units tanh(z A + a), laid out at several scales.

        A unit tanh(A . (z - c)) is a step across c of width 1 / |A|. Directions and |A| are those of a
        Gaussian whose size is the scale, and c is uniform over five standard deviations in every coordinate
        (the states are of unit size), so the steps cover where the data are and a margin around it. If
        `dense`, c is Gaussian and half as wide again as the states: finer where the data are.
        The points are a Sobol sequence, which fills space more evenly than random draws do, and the same
        every time. Units of one scale are neighbours: `scale_of_unit` tells them apart, so that each
        scale can have a prior of its own.
        """
        per_scale = -(-width // len(scales))
        points = scipy.stats.qmc.Sobol(2 * dimension, rng=3).random(1 << (per_scale - 1).bit_length())
        points = np.tile(points[:per_scale], (len(scales), 1))[:width].clip(1e-3, 1 - 1e-3)
        scale = np.asarray(scales)[cls._scale_of_unit(width, len(scales))]
        A = scipy.stats.norm.ppf(points[:, :dimension]).T * scale / dimension**0.5
        place = points[:, dimension:].T
        c = 1.5 * scipy.stats.norm.ppf(place) if dense else 10 * place - 5
        return A, -np.sum(A * c, axis=0)

    @staticmethod
    def _scale_of_unit(width: int, scales: int) -> np.ndarray:
        return np.arange(width) * scales // width

    @property
    def scale_of_unit(self) -> np.ndarray:
        """For every unit of the last hidden layer, which of `scales` it was drawn at."""
        return self._scale_of_unit(len(self.readout[0]), len(self.scales))

    def __call__(self, z: State) -> Float[Array, " m"]:
        """The value alone."""
        phi = activation(self.activation)
        for A, a in self.hidden:
            z = phi(z @ A + a)
        R, r = self.readout
        return z @ R + r

    def with_jacobian(self, z: State) -> tuple[Float[Array, " m"], Float[Array, "D m"]]:
        """The value and its Jacobian J[j, a] = d value_a / d z_j; a test compares it to `jax.jacfwd`."""
        value, hidden = self.with_hidden_jacobian(z)
        return value, hidden @ self.readout[0]

    def with_hidden_jacobian(self, z: State) -> tuple[Float[Array, " m"], Float[Array, "D h"]]:
        """The value, and the Jacobian of the last hidden layer, pushed forward layer by layer.

        Derivative first, unit last: every layer stays one matrix product over batch and derivative together.
        The first two layers are A diag(s) B = sum_h s_h A_jh B_hk: the slopes s times a constant matrix.
        """
        value, slopes = self._with_slopes(z)
        jacobian = jnp.eye(len(z), dtype=z.dtype)
        for depth, ((B, _), slope) in enumerate(zip(self.hidden, slopes, strict=True)):
            if depth == 0:
                jacobian = B * slope
            elif depth == 1:
                (A, _), s = self.hidden[0], slopes[0]
                products = A.T[:, :, None] * B[:, None, :]
                jacobian = (s @ products.reshape(len(s), -1)).reshape(len(z), -1) * slope
            else:
                jacobian = jacobian @ B * slope
        return value, jacobian

    def with_derivatives(
        self, z: State, weights: Float[np.ndarray, "n D m"]
    ) -> tuple[Float[Array, " m"], Float[Array, " n"]]:
        """The value, and q_i = sum_ja weights_ija d value_a / d z_j for constant weights.

        With two hidden layers A and B and the readout R the Jacobian is bilinear in the slopes s, t of their
        units: q_i = s^T K_i t, K_i[h, k] = B_hk sum_ja weights_ija A_jh R_ka. K is the same for all states of
        a batch, and what is left is one matrix product.
        """
        if len(self.hidden) != 2:
            # One hidden layer has such a matrix, too; gradients by R would take three times as long.
            value, jacobian = self.with_jacobian(z)
            return value, jnp.einsum("nja,ja->n", weights, jacobian)
        value, slopes = self._with_slopes(z)
        s, t = slopes
        (A, _), (B, _), (R, _) = *self.hidden, self.readout
        K = B[:, None] * jnp.einsum("nja,jh,ka->hnk", weights, A, R)
        return value, (s @ K.reshape(len(s), -1)).reshape(len(weights), -1) @ t

    def with_own_derivatives(
        self, z: State, *directions: Float[Array, "D m"]
    ) -> tuple[Float[Array, " m"], tuple[Float[Array, " m"], ...]]:
        """The value of a network with one hidden layer, and the derivative of every output along its own
        direction, d_a value_a / d z = sum_h s_h R_ha (A^T direction_a)_h, for one or more sets of them.
        """
        (value, (s,)), ((A, _),), (R, _) = self._with_slopes(z), self.hidden, self.readout
        return value, tuple(s @ (R * (A.T @ each)) for each in directions)

    def _with_slopes(self, z: State) -> tuple[Float[Array, " m"], list[Array]]:
        """The value, and the slopes phi' of every hidden layer."""
        phi, slopes = activation(self.activation), []
        for A, a in self.hidden:
            h = z @ A + a
            z, slope = jax.jvp(phi, (h,), (jnp.ones_like(h),))
            slopes.append(slope)
        R, r = self.readout
        return z @ R + r, slopes

    def starting_at(self, values: Float[Array, " m"]) -> "Network":
        """The same network with its last layer set to the constant `values`.

        The hidden layers keep their random weights, so learning starts from that constant but can
        leave it in every direction.
        """
        return eqx.tree_at(lambda n: n.readout, self, (0.0 * self.readout[0], values))
