"""Is it the equation that makes V unique, or the way we train?

Our equation and S-OnsagerNet with the same networks, the same random starts, the same Euler density and the
same Adam, from four seeds on the same data: the variation of grad V over seeds (variance over squared mean,
the ratio of means over test points), and how far grad V and the drift are from the exact ones.

    python benchmarks/random_starts.py --steps 4000
"""

import argparse
from dataclasses import dataclass

import numpy as np

import uidd
from uidd.baselines import StochasticOnsagerNet
from uidd.experiments.identifiability.cases import CASES, Size
from uidd.experiments.identifiability.study import variation
from uidd.experiments.identifiability.trials import seen
from uidd.models import Architecture, Model
from uidd.training import Plan, Trainable


@dataclass(frozen=True)
class OursFromRandomWeights(Trainable[Model]):
    """Our equation with S-OnsagerNet's networks, trained as that is."""

    networks: StochasticOnsagerNet

    @property
    def architecture(self):
        """The same V, sigma and W; M is not a network of its own."""
        net = self.networks
        return Architecture(net.potential, net.noise, net.circulation)

    def build(self, dimension, *, key):
        """Random weights."""
        return self.architecture.build(dimension, key=key)

    def likelihood(self, noise):
        """Euler's, as S-OnsagerNet's."""
        return uidd.EulerMaruyama()

    def in_user_units(self, unit, scaling):
        """A model of ours."""
        return Model(unit, self.architecture, scaling)


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--cases", nargs="+", default=["linear", "double well", "driven wells"])
    options = parser.parse_args()
    plan = Plan(steps=options.steps, batch=1024, learning_rate=5e-3, steps_per_epoch=200)
    size = Size((4000, 101), (400, 1000), (400, 1000), options.seeds, plan, points=400, bins=2)
    models = {"ours": OursFromRandomWeights(StochasticOnsagerNet()), "S-OnsagerNet": StochasticOnsagerNet()}
    for name in options.cases:
        case, data = CASES[name], size.data(CASES[name])
        points = case.draw(np.random.default_rng(7), size.points)
        exact = seen(case.system.dynamics, points)
        for label, model in models.items():
            fits = [uidd.fit(data, seed=seed, architecture=model, plan=plan) for seed in range(options.seeds)]
            found = [seen(each.model, points) for each in fits]
            off = [
                np.mean([np.linalg.norm(one[k] - exact[k]) / np.linalg.norm(exact[k]) for one in found])
                for k in (0, 1)
            ]
            varied = variation(np.stack([one[1] for one in found]))[1]
            print(
                f"{name}, {label}: grad V varies by {varied:.1e}, is off by {off[1]:.3f}, the drift by "
                f"{off[0]:.3f}; held out {np.mean([each.test_loss for each in fits]):.4f}, "
                f"{', '.join(sorted({each.result.code for each in fits}))}, "
                f"{np.mean([each.seconds for each in fits]):.0f} s a fit",
                flush=True,
            )


if __name__ == "__main__":
    main()
