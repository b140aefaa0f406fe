"""What does the outside barrier do where its assumption does not hold?

Beyond the data V is asked to rise by one kT for every standard deviation. Bursts from a saddle of 10 kT fall
on both sides, and a Student t with three degrees of freedom rises more slowly. What the outside barrier
charges the exact V, and the error of V over recorded states with it and without it, beside the error that the
fit states.

    python benchmarks/outside_barrier.py
"""

import jax
import jax.numpy as jnp
import numpy as np

import uidd
from uidd.training.search import search
from uidd.training.solvers.outside_barrier import OutsideBarrier

PATHS, FRAMES, DT, FINE = 400, 101, 0.005, 5


def saddle():
    """V = 10 (x^2 - 1)^2 + 2 y^2, from the saddle at the origin."""

    def V(z):
        return 10 * (z[..., 0] ** 2 - 1) ** 2 + 2 * z[..., 1] ** 2

    def gradient(z):
        return np.stack([40 * z[..., 0] * (z[..., 0] ** 2 - 1), 4 * z[..., 1]], axis=-1)

    start = np.random.default_rng(1).standard_normal((PATHS, 2)) * [0.05, 0.5]
    # A time in which few have reached a well.
    return V, gradient, start, DT / 5


def student():
    """V = (5 / 2) log(1 + |z|^2 / 3), from its own density."""

    def V(z):
        return 2.5 * np.log1p(np.sum(z**2, axis=-1) / 3)

    def gradient(z):
        return 5 * z / (3 + np.sum(z**2, axis=-1, keepdims=True))

    generator = np.random.default_rng(1)
    scale = np.sqrt(generator.chisquare(3, PATHS) / 3)
    return V, gradient, generator.standard_normal((PATHS, 2)) / scale[:, None], 10 * DT


def recorded(gradient, start, dt):
    generator, z, frames, h = np.random.default_rng(0), start, [start], dt / FINE
    for _ in range(FRAMES - 1):
        for _ in range(FINE):
            z = z - gradient(z) * h + np.sqrt(2 * h) * generator.standard_normal(z.shape)
        frames.append(z)
    return np.stack(frames, axis=1)


def main() -> None:
    of = OutsideBarrier.of
    for name, system in (("saddle", saddle), ("Student t", student)):
        V, gradient, start, dt = system()
        states = recorded(gradient, start, dt)
        data = uidd.Trajectories.from_arrays(states, dt=dt)
        flat = states.reshape(-1, 2)[::20]
        for with_barrier in (True, False):
            search.OutsideBarrier.of = (
                of if with_barrier else (lambda states: OutsideBarrier.none(states.shape[1]))
            )
            fit = uidd.fit(data, progress=False)
            scaling = fit.model.scaling
            unit = jnp.asarray(scaling.to_unit(flat), jnp.result_type(float))
            learned, *members = (
                np.asarray(jax.vmap(m.unit.potential)(unit)) for m in (fit.model, *fit.models)
            )
            off = (learned - V(flat)).std()
            stated = np.sqrt(np.mean([np.var(member - learned) for member in members]))
            words = "with the outside barrier" if with_barrier else "without it"
            if with_barrier:
                outside = of(scaling.to_unit(states.reshape(-1, 2)))
                places, core = scaling.to_user(outside.points), scaling.to_user(outside.core)
                lacking = np.minimum(V(places) - V(core).mean() - outside.distances, 0.0)
                print(
                    f"{name}: the outside barrier charges the exact V {np.sum(lacking**2) / 2:.0f} nats",
                    flush=True,
                )
            print(
                f"{name} {words}: V off by {off:.3f} kT, stated {stated:.3f}, {fit.result.code}", flush=True
            )
    OutsideBarrier.of = of


if __name__ == "__main__":
    main()
