"""Is a rotation found in whichever plane it turns? And what does a fit cost in many dimensions?

A Gaussian in D dimensions, whitened but for a stiffness that grows from 1 to 2, turns in one coordinate plane
at EPR 8. One line for every plane: the estimate over 8, its standard error, and the seconds of the fit.

    python benchmarks/rotations.py 3
"""

import argparse
import itertools

import numpy as np
import scipy.linalg

import uidd
from uidd import Trajectories

RATE, DT = 8.0, 0.05


def paths(dimension: int, plane: tuple[int, int], *, pairs: int, seed: int) -> Trajectories:
    """Exact draws of dZ = -(1 + W) S Z dt + sqrt(2) dB, 200 paths from the stationary density."""
    S = np.diag(np.linspace(1.0, 2.0, dimension))
    J = np.zeros((dimension, dimension))
    J[plane], J[plane[::-1]] = 1.0, -1.0
    # The rate of W = w J is w^2 Tr(S J^T J) = w^2 (S_ii + S_jj).
    W = J * (RATE / (S[plane[0], plane[0]] + S[plane[1], plane[1]])) ** 0.5
    step = scipy.linalg.expm(-(np.eye(dimension) + W) @ S * DT)
    C = np.linalg.inv(S)
    noise = np.linalg.cholesky(C - step @ C @ step.T)
    generator = np.random.default_rng(seed)
    z = [generator.standard_normal((200, dimension)) @ np.linalg.cholesky(C).T]
    for _ in range(pairs // 200):
        z.append(z[-1] @ step.T + generator.standard_normal((200, dimension)) @ noise.T)
    return Trajectories.from_arrays(list(np.stack(z, axis=1)), dt=DT)


def planes(dimension: int) -> list[tuple[int, int]]:
    """All of them up to five dimensions; then neighbours, the farthest, and some between."""
    if dimension <= 5:
        return list(itertools.combinations(range(dimension), 2))
    last = dimension - 1
    return [(0, 1), (0, 2), (0, last // 2), (0, last), (last // 2, last), (last - 1, last)]


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("dimensions", nargs="*", type=int, default=[3, 5, 12])
    parser.add_argument("--pairs", type=int, default=200_000)
    options = parser.parse_args()
    for dimension in options.dimensions:
        worst = 0.0
        for plane in planes(dimension):
            data = paths(dimension, plane, pairs=options.pairs, seed=0)
            fit = uidd.fit(data, seed=0, progress=False)
            found = uidd.entropy_production(fit)
            ratio, error = found.rate / RATE, found.standard_error / RATE
            worst = max(worst, abs(ratio - 1) / error)
            print(
                f"D = {dimension:2d}  plane {plane[0] + 1:2d}-{plane[1] + 1:<2d}  EPR / exact {ratio:.4f} +- "
                f"{error:.4f}  {fit.result}, {found.result}  {fit.seconds:.0f} s",
                flush=True,
            )
        print(f"D = {dimension:2d}  farthest from exact: {worst:.1f} standard errors", flush=True)


if __name__ == "__main__":
    main()
