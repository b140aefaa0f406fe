"""How much of the entropy production do some of the coordinates show?

Five beads between a cold and a hot bath. What is seen of a part is a lower bound of the whole. Counted are
single coordinates, which show nothing, and pairs of neighbours, as the rate less its null (in brackets the
rate itself, which is no bound: it holds the bias of counting), beside what pairs of frames show in closed
form. Bins can only lose: few lose much, many leave a large null. Then a model is learned from each pair as if
it were Markov; beside it, the rate of the linear Markov process with the pair's covariances at this dt.

    python benchmarks/projection.py --paths 100 --frames 5001
"""

import argparse

import numpy as np
import scipy.linalg

import uidd
from uidd.systems import Beads
from uidd.systems.linear_diffusion import circulation_and_stiffness, projected_rate, transition

SYSTEM = Beads(5)


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--paths", type=int, default=100)
    parser.add_argument("--frames", type=int, default=5001)
    parser.add_argument("--dt", type=float, default=0.1)
    given = parser.parse_args()
    data = SYSTEM.simulate(given.paths, given.frames, given.dt)
    at_dt = projected_rate(SYSTEM, range(5), given.dt)
    print(
        f"{data.pair_count:,} pairs, dt {given.dt}: the whole {SYSTEM.entropy_production_rate:.4f}, "
        f"pairs of frames of all five {at_dt:.4f}",
        flush=True,
    )
    for kept in ([0], [1], [2], [3], [4], [0, 1], [1, 2], [2, 3], [3, 4]):
        some = data.select_coordinates([data.coordinates[k] for k in kept])
        found = ", ".join(counted_in_words(some, bins) for bins in (10, 20, None))
        shown = abs(projected_rate(SYSTEM, kept, given.dt))
        print(f"counted {'-'.join(some.coordinates):>5}: {found}; closed form {shown:.4f}", flush=True)
    for kept in ([0, 1], [1, 2], [2, 3], [3, 4]):
        some = data.select_coordinates([data.coordinates[k] for k in kept])
        fit = uidd.fit(some)
        found = uidd.entropy_production(fit)
        print(
            f"learned {'-'.join(some.coordinates):>5}: {found.rate:.4f} +- {found.standard_error:.4f} "
            f"({fit.result.code}, {fit.seconds:.0f} s); linear and Markov {markov_rate(kept, given.dt):.4f}",
            flush=True,
        )


def counted_in_words(data: uidd.Trajectories, bins: int | None) -> str:
    """The rate less its null, with the error of both; the rate itself and what is said of it in brackets."""
    counted = uidd.count_entropy_production(data, bins)
    error = np.hypot(counted.standard_error, counted.null_spread)
    return (
        f"{counted.bins} bins {counted.excess:.4f} +- {error:.4f} ({counted.rate:.4f}, {counted.result.code})"
    )


def markov_rate(kept: list[int], dt: float) -> float:
    """The rate of dy = A y dt + sqrt(2 D) dB with the covariances of y_t and of (y_t, y_t+dt)."""
    rows = np.ix_(kept, kept)
    C = SYSTEM.covariance[rows]
    later = (SYSTEM.covariance @ transition(SYSTEM, dt)[0].T)[rows].T
    A = np.real(np.asarray(scipy.linalg.logm(later @ np.linalg.inv(C)))) / dt
    D = -(A @ C + C @ A.T) / 2
    W, S = circulation_and_stiffness(A, D)
    return float(-np.trace(np.linalg.solve(D, W @ S @ W)))


if __name__ == "__main__":
    main()
