"""Pairs that are spread over space: more of them where the data thin out, and no other answer."""

import jax
import numpy as np
import pytest

from uidd.data import Transitions
from uidd.training.solvers.sample import Sample


def gaussian(count, dimension, seed=0):
    """z' = -z + noise, from Gaussian starts."""
    generator = np.random.default_rng(seed)
    start, noise = generator.standard_normal((2, count, dimension))
    pairs = Transitions(start, -0.1 * start + 0.1**0.5 * noise, np.full(count, 0.1))
    return Sample(pairs, np.arange(count) * 10 // count, 10)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_pairs_at_the_edge_are_many_more_than_in_a_random_part(dimension):
    data = gaussian(20_000, dimension)
    spread, _ = data.evenly(2000, np.random.default_rng(1))
    radius = np.linalg.norm(data.pairs.start, axis=1)
    outer = np.quantile(radius, 0.99)
    share = np.mean(np.linalg.norm(spread.pairs.start, axis=1) > outer)
    # The number is a sum of draws of variance below one each.
    assert abs(len(spread) - 2000) < 5 * 2000**0.5 and share > 0.05
    # Each is one of the data, none is there twice, and it has kept its block.
    place = {row.tobytes(): k for k, row in enumerate(data.pairs.start)}
    index = [place[row.tobytes()] for row in spread.pairs.start]
    assert len(set(index)) == len(spread)
    np.testing.assert_array_equal(spread.block, data.block[index])
    np.testing.assert_array_equal(spread.pairs.increment, data.pairs.increment[index])


def test_few_pairs_are_all_taken():
    data = gaussian(100, 2)
    some, stands_for = data.evenly(100, np.random.default_rng(0))
    assert some is data and (stands_for == 1).all()


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_sums_over_all_pairs_are_met_on_average(dimension):
    """Of 1, |z|^2 and |z|^8, the last of which heavy tails make: weights are known, so errors are, too."""
    data = gaussian(20_000, dimension)
    for power in (0, 2, 8):
        exact = np.sum(np.linalg.norm(data.pairs.start, axis=1) ** power)
        z, relative = [], []
        for seed in range(10):
            some, stands_for = data.evenly(2000, np.random.default_rng(seed))
            size = stands_for * np.linalg.norm(some.pairs.start, axis=1) ** power
            # The variance of a sum of pairs that are taken with probability q is sum of x^2 (1 - q) / q.
            error = np.sqrt(np.sum(size**2 * (1 - np.minimum(1.0, 1 / stands_for))))
            z.append((size.sum() - exact) / error)
            relative.append(error / exact)
        assert abs(np.mean(z)) < 4 / 10**0.5 and 0.4 < np.std(z) < 2.0
        assert np.mean(relative) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_a_regression_on_spread_starts_has_the_same_answer(seed):
    """Starts are chosen by where they are, so the slope is right up to its own standard error."""
    some = gaussian(20_000, 1, seed).evenly(2000, np.random.default_rng(seed))[0]
    x, y = some.pairs.start[:, 0], some.pairs.increment[:, 0] / 0.1
    slope = x @ y / (x @ x)
    error = (1 / 0.1 / (x @ x)) ** 0.5
    assert abs(slope + 1) < 4 * error


@pytest.mark.parametrize("x64", [False, True])
def test_segments_come_in_turn_and_keep_the_precision_of_the_caller(x64):
    """Threads do not inherit JAX's settings: single precision would go unnoticed."""
    pairs = Transitions(np.arange(70.0)[:, None], np.zeros((70, 1)), np.ones(70))
    sample = Sample(pairs, np.zeros(70, int), 1)
    with jax.enable_x64(x64):
        found = list(sample.each(lambda arrays, which: 2 * arrays[0][: which.stop - which.start] / 3, 16))
    assert {part.dtype for part in found} == {np.dtype(np.float64 if x64 else np.float32)}
    np.testing.assert_allclose(np.concatenate(found)[:, 0], 2 * np.arange(70) / 3, rtol=1e-6)
