"""How programs are compiled: products in the full precision of their numbers, on every device."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax

P = ParamSpec("P")
T = TypeVar("T")
MAPS, MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """`eqx.filter_jit`, without the short products of GPUs.

    Left alone, JAX multiplies single precision matrices there with a mantissa of 10 bits. The log-density of
    a pair is a difference of large numbers: on the linear case the error of the rate doubles.
    """

    @functools.wraps(function)
    def precise(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    return eqx.filter_jit(precise)


def make_room() -> None:
    """Forget compiled programs before there are too many for the system.

    Every program on a CPU holds maps of memory, of which Linux gives a process some 65,000; at the limit the
    compiler stops the whole process. After twenty to thirty fits in one session that would happen.
    """
    try:
        used = MAPS.read_bytes().count(b"\n")
        limit = int(MOST_MAPS.read_bytes())
    except (OSError, ValueError):  # another system, which counts otherwise
        return
    if used > limit / 2:
        jax.clear_caches()
