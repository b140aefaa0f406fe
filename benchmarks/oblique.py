"""Is a double well found that lies oblique to the coordinates? And what does it cost in many dimensions?

V = 2 (x^2 - 1)^2 + y^2 + sum of the others' squares / 2, with a current between x and y (M = 1, W_xy = 1),
turned at random: no coordinate sees the wells by itself. EPR = <V_xx + V_yy> = 14.451, by quadrature.

    python benchmarks/oblique.py 2 4 6 12
"""

import argparse

import numpy as np

import uidd
from uidd import Trajectories

DT, SUBSTEPS, PATHS, UNRECORDED = 0.05, 20, 200, 100


def paths(dimension: int, *, pairs: int, seed: int) -> Trajectories:
    """Heun's scheme with 20 steps a frame, 200 paths, after 100 frames that are not recorded."""
    generator = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(generator.standard_normal((dimension, dimension)))

    def drift(z):
        gradient = z.copy()
        gradient[:, 0] = 8 * z[:, 0] * (z[:, 0] ** 2 - 1)
        gradient[:, 1] = 2 * z[:, 1]
        f = -gradient
        f[:, 0] -= gradient[:, 1]
        f[:, 1] += gradient[:, 0]
        return f

    z, frames, h = generator.standard_normal((PATHS, dimension)), [], DT / SUBSTEPS
    for frame in range(UNRECORDED + pairs // PATHS + 1):
        for _ in range(SUBSTEPS):
            noise = np.sqrt(2 * h) * generator.standard_normal(z.shape)
            f = drift(z)
            z = z + h * (f + drift(z + h * f + noise)) / 2 + noise
        if frame >= UNRECORDED:
            frames.append(z @ turned.T)
    return Trajectories.from_arrays(list(np.stack(frames, axis=1)), dt=DT)


def exact() -> float:
    """<24 x^2 - 8> + 2 over e^-V."""
    x = np.linspace(-3, 3, 20_001)
    weight = np.exp(-2 * (x**2 - 1) ** 2)
    return float(np.sum(weight * (24 * x**2 - 8)) / weight.sum() + 2)


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("dimensions", nargs="*", type=int, default=[2, 4, 6, 12])
    parser.add_argument("--pairs", type=int, default=100_000)
    options = parser.parse_args()
    for dimension in options.dimensions:
        data = paths(dimension, pairs=options.pairs, seed=0)
        fit = uidd.fit(data, seed=0, progress=False)
        found = uidd.entropy_production(fit)
        called = ", ".join(test.what for test in fit.tests if test.called_for) or "nothing"
        print(
            f"D = {dimension:2d}  EPR / exact {found.rate / exact():.3f} +- "
            f"{found.standard_error / exact():.3f}"
            f"  called for: {called}  {fit.result}, {found.result.code}, {fit.seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
