"""The two samplers of the paper, how their chains are recorded, and how much of everything."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._types import Scalar, State
from ...components import Full, SumOfSquares, Triangular
from ...data import Transitions
from ...models import Architecture
from ...systems import Run, Sampler, sgld_ica, sgld_least_squares, without_labels
from ...training import Plan

MINI_BATCHES = (1, 2, 4, 8, 16, 32, 64)
BATCH_SIZES: tuple[int | None, ...] = (*MINI_BATCHES, None)


@dataclass(frozen=True)
class Size:
    """How much of everything.

    Attributes:
        chains: For each of the seeds.
        burn_in: Iterations that are not recorded, a multiple of `every`.
        iterations: Iterations that are.
        every: Iterations between two recorded pairs.
        seeds: Models of one batch size, each from chains of its own.
        states: Stationary states, for the exact equation.
        compared: Of these, for means over the learned density and for discrepancies.
        plan: Of each stage of training.
        width: Of the networks.
        exact: Of the network that solves for V with the exact equation.
        substeps: Euler steps for one iteration, where the exact equation is simulated.
        follow: How long that is, in relaxation times.
        settle: How long states follow the learned drift and noise before V is sought.
        paths: Chains whose mean is followed.
    """

    chains: int
    burn_in: int
    iterations: int
    every: int
    seeds: int
    states: int
    compared: int
    plan: Plan
    width: int
    exact: Plan
    substeps: int
    follow: float
    settle: float
    paths: int = 500

    @property
    def pairs(self) -> int:
        """That are recorded for each of the seeds."""
        return self.chains * (self.iterations // self.every)

    @property
    def architecture(self) -> Architecture:
        """Wide layers in place of the paper's deep ones, and all fields of W.

        A sigma that follows the noise by 95 % costs a tenth of the entropy production, which goes with the
        square of what varies in M: it is the widest.
        """
        wide = (self.width,)
        return Architecture(
            SumOfSquares(widths=wide), Triangular(widths=(2 * self.width,)), Full(widths=wide)
        )


QUICK = Size(
    chains=250,
    burn_in=200,
    iterations=800,
    every=1,
    seeds=4,
    states=8_000,
    compared=4_000,
    plan=Plan(400, 512, 5e-3, 200),
    width=64,
    exact=Plan(800, 1024, 1e-2, 400),
    substeps=1,
    follow=1.0,
    settle=0.0,
)
PAPER = replace(
    QUICK,
    states=200_000,
    compared=200_000,
    plan=Plan(3_000, 4096, 5e-3, 500),
    width=128,
    exact=Plan(4_000, 4096, 5e-3, 1_000),
    substeps=4,
)


@dataclass(frozen=True)
class Problem:
    """A sampler and what is published about it.

    Attributes:
        name: As in the titles.
        sampler: With its full batch.
        identified: From states, and what goes with them, to the same without arbitrary labels.
        starts: From a generator and a number of paths to states far away, by name.
        loss: The loss of all data at a state.
        relaxation: The longest time after which chains have forgotten where they began.
        sizes: By name.
        published_rates: The published entropy production, four seeds a batch size.
        published_discrepancies: The published squared MMD to the full batch.
    """

    name: str
    sampler: Sampler
    identified: Callable[..., tuple[np.ndarray, ...]]
    starts: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    loss: Callable[[State], Scalar]
    relaxation: float
    sizes: dict[str, Size]
    published_rates: dict[int, tuple[float, ...]]
    published_discrepancies: dict[int, float]

    def run(
        self, batch_size: int | None, chains: int, iterations: int, *, every: int, start: Any, seed: int
    ) -> Run:
        """Chains of one batch size."""
        sampler = self.sampler.with_batch_size(batch_size)
        return sampler.run(chains, iterations, every=every, start=start, seed=seed, drop_lost=True)

    def pairs(self, size: Size, batch_size: int | None, seed: int) -> Transitions:
        """Recorded after the burn-in."""
        run = self.run(
            batch_size, size.chains, size.burn_in + size.iterations, every=size.every, start=None, seed=seed
        )
        late = slice(size.burn_in // size.every, None)
        made = replace(run, start=run.start[:, late], increment=run.increment[:, late]).transitions()
        start, increment = self.identified(made.start, made.increment)
        return Transitions(start, increment, made.dt)

    def states(self, size: Size, batch_size: int | None, seed: int) -> np.ndarray:
        """Stationary states of chains: four of each, one relaxation apart."""
        apart = max(1, round(self.relaxation / self.sampler.step))
        made = self.run(batch_size, -(-size.states // 4), 6 * apart, every=apart, start=None, seed=seed)
        return self.identified(made.start[:, 2:].reshape(-1, made.start.shape[-1]))[0][: size.states]


def _as_they_are(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return arrays


def _least_squares_loss(sampler: Sampler) -> Callable[[State], Scalar]:
    A, v = sampler.data
    return lambda z: jnp.mean((A @ z - v) ** 2) / 2


def _ica_loss(sampler: Sampler) -> Callable[[State], Scalar]:
    """-(mean log-posterior) of the published setting: its natural gradient is the sampler's force."""
    x = sampler.data

    def loss(z):
        U = z.reshape(2, 2)
        determinant = jnp.abs(U[0, 0] * U[1, 1] - U[0, 1] * U[1, 0])
        return (
            jnp.mean(jnp.sum(jnp.log(jnp.cosh(x @ U.T)), axis=1)) - jnp.log(determinant) + jnp.sum(U**2) / 2
        )

    return loss


def least_squares(matrix: Any = None) -> Problem:
    """The published setting of the 12-D problem, or of another matrix."""
    sampler = sgld_least_squares(None, matrix=matrix)
    A = np.asarray(sampler.data[0], np.float64)
    slowest = np.linalg.eigvalsh(A.T @ A / len(A)).min()
    return Problem(
        name="least squares",
        sampler=sampler,
        identified=_as_they_are,
        starts=lambda generator, count: {
            "zero": np.zeros((count, A.shape[1])),
            "random": generator.uniform(-1, 1, (count, A.shape[1])),
        },
        loss=_least_squares_loss(sampler),
        relaxation=float(3 / slowest),
        sizes={
            "quick": replace(QUICK, chains=1_500, burn_in=500, iterations=500, every=5, follow=0.05),
            "paper": replace(PAPER, chains=125_000, burn_in=500, iterations=500, every=50),
        },
        published_rates={},
        published_discrepancies=dict(
            zip(MINI_BATCHES, (0.00865, 0.00334, 0.00225, 0.00134, 0.00108, 0.00108, 0.00129), strict=True)
        ),
    )


def ica() -> Problem:
    """The published setting of the 4-D problem."""
    sampler = sgld_ica(None)
    rates = (
        (0.0734, 0.0639, 0.0680, 0.0596),
        (0.0313, 0.0371, 0.0296, 0.0138),
        (0.0245, 0.0199, 0.0151, 0.0140),
        (0.0358, 0.0201, 0.0065, 0.0151),
        (0.0110, 0.0158, 0.0110, 0.0330),
        (0.0192, 0.0152, 0.0187, 0.0093),
        (0.0172, 0.0077, 0.0123, 0.0103),
    )
    return Problem(
        name="independent components",
        sampler=sampler,
        identified=without_labels,
        # Not from zero: there all forces and the noise vanish.
        starts=lambda generator, count: {"random": generator.uniform(-2, 2, (count, 4))},
        loss=_ica_loss(sampler),
        relaxation=5.0,
        sizes={
            "quick": replace(QUICK, chains=500, iterations=400, every=2, follow=0.4, settle=2.0, substeps=2),
            "paper": replace(PAPER, chains=50_000, iterations=800, every=10, settle=5.0),
        },
        published_rates=dict(zip(MINI_BATCHES, rates, strict=True)),
        published_discrepancies=dict(
            zip(MINI_BATCHES, (0.00173, 0.00129, 0.00184, 0.00101, 0.00096, 0.00048, 0.00029), strict=True)
        ),
    )
