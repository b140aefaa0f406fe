"""How programs are compiled: products in the full precision of their numbers, on every device."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax

P = ParamSpec("P")
T = TypeVar("T")


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
