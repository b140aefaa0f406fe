"""A regression with two unknowns, sampled with batches of several sizes: which size is enough?"""

import numpy as np

import uidd
from uidd.systems import SamplerEquation, sgld, stationary_states
from uidd.thermodynamics import variational_entropy_production

STEP = 2e-4


def gradient(z, datum):
    """Of (x . z - y)^2 / 2."""
    x, y = datum
    return (x @ z - y) * x


def main(chains: int = 24, iterations: int = 6000) -> None:
    """Diagnose the chains; then the exact rates, from the equation that they stand for."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(64, 2)) * [1.0, 3.0]
    y = x @ [1.0, -1.0] + generator.standard_t(3, size=64)
    samplers = {size: sgld(gradient, (x, y), size, step=STEP, dimension=2) for size in (1, 4, 16, None)}
    runs = {
        size: each.run(chains=chains, iterations=iterations, seed=0).start for size, each in samplers.items()
    }
    print(uidd.diagnose_sampler(runs, step=STEP, burn_in=0.2))

    for size, sampler in samplers.items():
        equation = SamplerEquation(sampler)
        last = runs[size][:, iterations // 5 :: 50].reshape(-1, 2)
        states = stationary_states(equation, last, time=0.2, seed=1)
        rate = variational_entropy_production(equation, states, degree=6).rate
        print(f"exact, batch size {size or 'full'}: {rate}")


if __name__ == "__main__":
    main()
