"""How long does the landscape of a learned potential in three dimensions take?

A fit of `DrivenWells`, then `survey`: all minima, the saddles between them and the barriers with their error
bars over the ensemble. The first call compiles; the second is the same again; the third starts from recorded
states that the fit never chose, as many. The barrier is 4 in truth.

    python benchmarks/landscape.py --paths 100 --frames 600
"""

import argparse
import time

import numpy as np

import uidd
from uidd.landscape import Landscape, survey
from uidd.systems import DrivenWells


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--paths", type=int, default=100)
    parser.add_argument("--frames", type=int, default=600)
    given = parser.parse_args()
    system = DrivenWells()
    data = system.simulate(given.paths, given.frames)
    fit = uidd.fit(data)
    anchors = len(fit.model.anchors)
    print(
        f"{data.pair_count:,} pairs, fitted in {fit.seconds:.0f} s ({fit.result.code}), "
        f"{len(fit.models)} members, {anchors} starts",
        flush=True,
    )
    states = np.random.default_rng(1).permutation(np.concatenate(data.states))[:anchors]
    for name, starts in (("first call", None), ("the same again", None), ("other starts", states)):
        begun = time.monotonic()
        found = survey(fit, starts)
        print(f"{name}: {time.monotonic() - begun:.1f} s; {words(found)}", flush=True)
    print(f"exact: minima {system.minima.tolist()}, barrier {system.barriers[0]:.0f}")


def words(found: Landscape) -> str:
    """Minima and barriers in one line."""
    minima = ", ".join(str(point.x.round(2).tolist()) for point in found.minima)
    heights = ", ".join(
        f"{each.height:.3f} +- {each.standard_error:.3f} ({each.result.code})" for each in found.barriers
    )
    return f"minima {minima}; barriers {heights}"


if __name__ == "__main__":
    main()
