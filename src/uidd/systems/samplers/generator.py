"""Random numbers inside numba's loops: xoshiro256+, indices, and normal numbers by the ziggurat."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

LAYERS = 256


class Generator(NamedTuple):
    """Compiled functions of a generator's state, six words: xoshiro's four, unused random bits, their number.

    Attributes:
        begin: From an array of four words to a state.
        below: From n < 2^32 and a state to a whole number uniform on 0 ... n - 1, and the next state.
        normal: From a state to a standard normal number in single precision, and the next state.
    """

    begin: Any
    below: Any
    normal: Any


def words(seed: int, first: int, count: int) -> np.ndarray:
    """Four words for each of the chains first, first + 1, ..., of the seed and the chain's number alone.

    Philox makes four words from its key and a counter, so that a chain's are found without those before it.
    """
    source = np.random.Philox(np.random.SeedSequence([seed]))
    return source.advance(first).random_raw(4 * count).reshape(count, 4)


def ziggurat_edges(tail: float) -> np.ndarray:
    """Right edges x_0 > x_1 = tail > ... of 256 layers of one area under f = e^{-x^2/2}.

    The lowest layer is the strip below f(tail) with all of the tail; x_0 is its width as a rectangle.
    Layer i lies between the heights of x_i and x_{i+1}: x_i (f(x_{i+1}) - f(x_i)) = area. If all fit
    below the top the last edge is 0; where they would overshoot it, edges are infinite.
    """
    area = tail * _density(tail) + math.sqrt(math.pi / 2) * math.erfc(tail / math.sqrt(2))
    edges = [area / _density(tail), tail]
    while len(edges) <= LAYERS:
        height = _density(edges[-1]) + area / edges[-1]
        if height > 1:
            break
        edges.append(math.sqrt(-2 * math.log(height)))
    return np.array(edges + [math.inf] * (LAYERS + 1 - len(edges)))


@cache
def ziggurat() -> np.ndarray:
    """The edges with x_256 = 0, by bisection for where the tail begins, 3.654."""
    short, long = 3.0, 4.0  # layers overshoot the top, do not reach it
    while short < (middle := (short + long) / 2) < long:
        short, long = (middle, long) if math.isinf(ziggurat_edges(middle)[-1]) else (short, middle)
    edges = ziggurat_edges(long)
    edges[-1] = 0.0
    return edges


def _density(x: float) -> float:
    return math.exp(-x * x / 2)


@cache
def generator() -> Generator:
    """Compile it, when first asked: importing numba takes longer than importing all of this package."""
    from numba import njit

    edges = ziggurat()
    tail, heights = float(edges[1]), np.exp(-(edges**2) / 2)
    right = edges.astype(np.float32)
    width = (edges[:-1] * 2.0**-31).astype(np.float32)  # of a step of a signed number with 32 bits
    one = np.uint64(1)

    @njit(forceinline=True)
    def begin(words):
        return words[0], words[1], words[2], words[3], np.uint64(0), np.uint64(0)

    @njit(forceinline=True)
    def word(state):
        a, b, c, d, bits, left = state
        drawn, shifted = a + d, b << np.uint64(17)
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << np.uint64(45)) | (d >> np.uint64(19))
        return drawn, (a, b, c, d, bits, left)

    @njit(forceinline=True)
    def below(n, state):
        # floor(n u / 2^k) of k random bits u, where the products that would favour some values are refused
        # (Lemire 2019). A word serves four times for small n; its weak lowest bits hardly decide anything.
        n = np.uint64(n)
        k = np.uint64(16) if n <= np.uint64(4096) else np.uint64(32)
        rest = (one << k) - one
        while True:
            if state[5] == np.uint64(0):
                drawn, state = word(state)
                state = (state[0], state[1], state[2], state[3], drawn, np.uint64(64))
            product = (state[4] & rest) * n
            state = (state[0], state[1], state[2], state[3], state[4] >> k, state[5] - k)
            low = product & rest
            if low >= n or low >= (rest + one) % n:
                return np.int64(product >> k), state

    @njit
    def uniform(state):
        drawn, state = word(state)
        return (np.float64(drawn >> np.uint64(11)) + 0.5) * 2.0**-53, state

    @njit
    def outside(z, layer, state):
        # Marsaglia & Tsang 2000: in the lowest layer the tail, in others the wedge, or all over again.
        while True:
            if layer == np.uint64(0):
                while True:
                    u, state = uniform(state)
                    v, state = uniform(state)
                    beyond = -math.log(u) / tail
                    if -2 * math.log(v) > beyond * beyond:
                        return np.float32(math.copysign(tail + beyond, z)), state
            u, state = uniform(state)
            height = heights[layer] + u * (heights[layer + one] - heights[layer])
            if height < math.exp(-0.5 * np.float64(z) * np.float64(z)):
                return z, state
            drawn, state = word(state)
            layer = drawn >> np.uint64(56)
            z = np.float32(np.int32(drawn >> np.uint64(24))) * width[layer]
            if abs(z) < right[layer + one]:
                return z, state

    @njit(forceinline=True)
    def normal(state):
        # The upper bits of a word, which are its best: eight for the layer, 32 for the place and the sign.
        drawn, state = word(state)
        layer = drawn >> np.uint64(56)
        z = np.float32(np.int32(drawn >> np.uint64(24))) * width[layer]
        if abs(z) < right[layer + one]:
            return z, state
        return outside(z, layer, state)

    return Generator(begin, below, normal)
