"""The first five minutes: data with a known answer, a model, its entropy production."""

import numpy as np

import uidd


def main(paths: int = 2000) -> None:
    """Fit the paper's linear case and compare with the exact rate."""
    system = uidd.systems.Linear(strength=1.0)
    data = system.simulate(paths, scheme="exact", seed=0)
    fit = uidd.fit(data, seed=0)
    rate = uidd.entropy_production(fit)
    print(f"fit: {fit.result}; members of the ensemble: {len(fit.models)}; rate: {rate.result}")
    print(f"entropy production: learned {rate}, exact {system.entropy_production_rate:.4f}")

    z = np.array([0.1, -0.2])
    print("V(z) =", float(fit.model.potential(z)), " current velocity =", fit.model.irreversible_drift(z))
    new = uidd.simulate(fit.model, z, np.linspace(0, 1, 101), seed=2)
    print("a new trajectory of shape", new.shape)


if __name__ == "__main__":
    main()
