"""How long does a crossing take: by simulation, by quadrature, by the formula of Eyring and Kramers?

The double well V = h (x^2 - 1)^2 at several heights h, M = 1/2, without circulation. From x = -1 until x is
within a thermal width of 1 the mean time is exactly (1/M) int e^V(y) int_-inf^y e^-V(x) dx dy. The formula
is for high barriers. The simulation sees an arrival at the end of a step only: a little late, the more so the
lower the barrier.

    python benchmarks/passage.py --passages 4000
"""

import argparse
import time

import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad

from uidd.dynamics import ClosedFormDynamics
from uidd.landscape import barrier, passage_time

M = 0.5
MOST_STEPS = 2_000_000


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--passages", type=int, default=4000)
    parser.add_argument("--heights", type=float, nargs="+", default=[1.0, 2.0, 3.0, 4.0, 5.0])
    given = parser.parse_args()
    for height in given.heights:
        dynamics = double_well(height)
        over = barrier(dynamics.potential, [-1.0], [1.0])
        begun = time.monotonic()
        found = passage_time(dynamics, over, passages=given.passages, most_steps=MOST_STEPS)
        seconds = time.monotonic() - begun
        exact = exact_time(height, 1 - 1 / np.sqrt(8 * height))
        error = found.standard_error / exact
        print(
            f"height {over.height:.0f}: simulated {found.mean:.3f} +- {found.standard_error:.3f} "
            f"({found.passages:,} passages, {seconds:.0f} s), exact {exact:.3f}, ratio "
            f"{found.mean / exact:.3f} +- {error:.3f}; Eyring and Kramers {found.eyring_kramers:.3f}, "
            f"ratio {found.eyring_kramers / exact:.3f}",
            flush=True,
        )


def double_well(height: float) -> ClosedFormDynamics:
    return ClosedFormDynamics(
        lambda z: height * (z[0] ** 2 - 1) ** 2,
        lambda z: jnp.eye(1, dtype=z.dtype),
        lambda z: jnp.zeros((1, 1), z.dtype),
    )


def exact_time(height: float, end: float) -> float:
    """(1/M) int_-1^end e^V(y) int_-inf^y e^-V(x) dx dy."""

    def V(x: float) -> float:
        return height * (x**2 - 1) ** 2

    def below(y: float) -> float:
        return quad(lambda x: np.exp(-V(x)), -5, y)[0]

    return quad(lambda y: np.exp(V(y)) * below(y), -1, end)[0] / M


if __name__ == "__main__":
    main()
