"""How often does a line of `fit.checks` complain about a good fit?

Linear planes with a current and double wells of one dimension, drawn by seeds, whose assumptions hold: every
line should complain in two of ten thousand fits, and its chance be below 5 % in at most one of twenty.

    python benchmarks/null_checks.py 0:200 --workers 2
"""

import argparse
from collections import Counter

import numpy as np
import scipy.linalg

PATHS, FRAMES = 40, 501


def plane(generator: np.random.Generator):
    """dz = -(1 + W) S z dt + sqrt(2) dB, carried over each interval exactly."""
    root = generator.standard_normal((2, 2))
    S = root @ root.T + 0.5 * np.eye(2)
    w, dt = 3 * generator.standard_normal(), 0.05
    A = -(np.eye(2) + w * np.array([[0.0, 1.0], [-1.0, 0.0]])) @ S
    step, C = scipy.linalg.expm(A * dt), np.linalg.inv(S)
    kick = np.linalg.cholesky(C - step @ C @ step.T)
    z = generator.standard_normal((PATHS, 2)) @ np.linalg.cholesky(C).T
    frames = [z]
    for _ in range(FRAMES - 1):
        z = z @ step.T + generator.standard_normal(z.shape) @ kick.T
        frames.append(z)
    return np.stack(frames, axis=1), dt


def double_well(generator: np.random.Generator):
    """dx = (x - x^3) dt + sqrt(2 D) dB in fine steps of Heun's."""
    D, dt, fine = generator.uniform(0.2, 0.6), 0.1, 20
    h, x = dt / fine, generator.choice([-1.0, 1.0], PATHS)
    frames = []
    for k in range(FRAMES + 50):
        for _ in range(fine):
            f, noise = x - x**3, generator.standard_normal(PATHS) * (2 * D * h) ** 0.5
            y = x + f * h + noise
            x = x + (f + y - y**3) * h / 2 + noise
        if k >= 50:
            frames.append(x)
    return np.stack(frames, axis=1)[:, :, None], dt


def checks_of(seed: int) -> list[tuple[str, str, float]]:
    import uidd

    generator = np.random.default_rng([seed, 77])
    states, dt = (double_well if seed % 4 == 0 else plane)(generator)
    fit = uidd.fit(uidd.Trajectories.from_arrays(states, dt=dt), progress=False)
    return [(line.name, line.verdict, line.chance) for line in fit.checks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default="0:200")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    from uidd.experiments.population.study import side_by_side

    first, end = map(int, options.seeds.split(":"))
    verdicts, low = Counter(), Counter()
    with side_by_side(options.workers) as pool:
        for count, lines in enumerate(pool.map(checks_of, range(first, end)), start=1):
            for name, verdict, chance in lines:
                verdicts[name, verdict] += 1
                low[name] += chance < 0.05
            if count % 50 == 0 or count == end - first:
                show(count, verdicts, low)


def show(count: int, verdicts: Counter, low: Counter) -> None:
    """So far."""
    print(f"\n{count} fits\n\n| line | ok | small | complains | chance below 5 % |\n|---|---|---|---|---|")
    for name in sorted(low):
        row = [verdicts[name, verdict] for verdict in ("ok", "small", name)]
        print(f"| {name} | {row[0]} | {row[1]} | {row[2]} | {low[name] / count:.1%} |", flush=True)


if __name__ == "__main__":
    main()
