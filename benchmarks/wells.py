"""Is V wrong within wells, or are their heights against each other?

python benchmarks/wells.py 1539
"""

import argparse

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int, help="of a system of `uidd benchmark population` that has wells")
    seed = parser.parse_args().seed
    import jax
    import jax.numpy as jnp

    import uidd
    from uidd.systems.population import random_system

    system = random_system(seed)
    data = system.simulate()
    centers = getattr(system.dynamics.landscape, "centers", None)
    if centers is None:
        raise SystemExit(f"System {seed} is a {system.about['landscape']}: it has no wells.")
    states = np.concatenate(data.states)
    states = states[:: max(1, len(states) // 2000)]
    fit = uidd.fit(data, seed=0, progress=False)
    unit = jnp.asarray(fit.model.scaling.to_unit(states), jnp.result_type(float))
    with jax.enable_x64(True):
        exact = np.asarray(jax.vmap(system.dynamics.potential)(jnp.asarray(states)))
    learned = lambda model: np.asarray(jax.vmap(model.unit.potential)(unit), np.float64)  # noqa: E731
    off = learned(fit.model) - exact
    apart = np.stack([learned(member) for member in fit.models]) - learned(fit.model)
    stated = (apart - apart.mean(axis=1, keepdims=True)).std()
    inner = states @ np.asarray(system.dynamics.inverse_axes).T
    nearest = np.argmin(np.sum((inner[:, None] - np.asarray(centers)) ** 2, axis=-1), axis=1)
    print(f"seed {seed}: {fit.result.code}; V is off by {off.std():.2f} kT, {stated:.2f} stated")
    for k in range(len(centers)):
        own = off[nearest == k]
        print(
            f"well {k}, {len(own) / len(off):.0%}: {own.mean() - off.mean():+.2f} kT, within {own.std():.2f}"
        )


if __name__ == "__main__":
    main()
