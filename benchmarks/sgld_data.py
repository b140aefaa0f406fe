"""How many paths of least squares SGLD are made in a second, against the published code's 22?

The published 12-dimensional problem, 1,000 iterations a path, of which 20 pairs are kept. For every batch
size the compiled loop (`fused`) and plain JAX iterations, in the same run: paths a second, the ratio to 22,
and the time that 500,000 chains would take. Compilation is not counted. `--full` makes the 500,000 at b = 1.

    python benchmarks/sgld_data.py --full
"""

import argparse
import os
import resource
import time

from uidd.systems import Sampler, sgld_least_squares

PUBLISHED = 22  # paths of 1,000 iterations a second
CHAINS, ITERATIONS, EVERY = 500_000, 1000, 50


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--seconds", type=float, default=5.0, help="for every line, about")
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    for batch_size in (1, 8, 64, None):
        sampler = sgld_least_squares(batch_size)
        name = "all data" if batch_size is None else f"b = {batch_size}"
        for way, allowed in (("kernel", True), ("plain JAX", False)):
            rate, processors = paths_per_second(sampler, given.seconds, allowed)
            print(
                f"{name:8}  {way:9} {rate:8,.0f} paths/s on {processors:.2f} processors, "
                f"{rate / PUBLISHED:7,.1f} times the published code; "
                f"{CHAINS:,} chains in {CHAINS / rate:6,.0f} s",
                flush=True,
            )
    if given.full:
        begun = time.monotonic()
        run = sgld_least_squares(1).run(CHAINS, ITERATIONS, every=EVERY, seed=0)
        seconds = time.monotonic() - begun
        kept = run.start.nbytes + run.increment.nbytes + run.last.nbytes
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"{CHAINS:,} chains at b = 1, made: {seconds:.0f} s, {CHAINS / seconds:,.0f} paths/s, "
            f"{kept / 1e9:.2f} GB kept, peak memory {peak / 1e9:.2f} GB",
            flush=True,
        )


def paths_per_second(sampler: Sampler, seconds: float, kernel: bool) -> tuple[float, float]:
    """And on how many processors: others may be at work on the machine."""
    applies = sampler_module.kernel_of
    if not kernel:
        sampler_module.kernel_of = lambda _: None
    try:
        chains = 64
        while True:  # twice at every size: the first of them compiles
            sampler.run(chains, ITERATIONS, every=EVERY, seed=0)
            begun, busy = time.monotonic(), sum(os.times()[:2])
            sampler.run(chains, ITERATIONS, every=EVERY, seed=1)
            took, busy = time.monotonic() - begun, sum(os.times()[:2]) - busy
            if took > seconds / 3:
                return chains / took, busy / took
            chains *= 4
    finally:
        sampler_module.kernel_of = applies


if __name__ == "__main__":
    main()
