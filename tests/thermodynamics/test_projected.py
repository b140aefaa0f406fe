"""What some of the coordinates show of the entropy production of all: never more."""

from itertools import combinations

import numpy as np
import pytest

from uidd.systems import Beads, Linear
from uidd.systems.linear_diffusion import projected_rate, transition
from uidd.thermodynamics import count_entropy_production

SYSTEM, DT = Beads(5), 0.1


@pytest.mark.parametrize("system", [Linear(1.0), Beads(2), Beads(5)])
def test_all_coordinates_at_a_short_interval_show_the_whole(system):
    """The rate at dt is below that of the process by O(dt)."""
    whole, kept = system.entropy_production_rate, range(len(system.stiffness))
    off = np.array([whole - projected_rate(system, kept, dt) for dt in (2e-3, 1e-3)])
    assert (off > 0).all() and off[1] < 0.01 * whole
    np.testing.assert_allclose(off[0] / off[1], 2, atol=0.1)


@pytest.mark.parametrize("dt", [0.01, 0.1, 1.0])
def test_fewer_coordinates_never_show_more(dt):
    subsets = [kept for size in range(1, 6) for kept in combinations(range(5), size)]
    rates = {kept: projected_rate(SYSTEM, kept, dt) for kept in subsets}
    for kept, rate in rates.items():
        assert rate < SYSTEM.entropy_production_rate
        for less in subsets:
            if set(less) < set(kept):
                assert rates[less] < rate + 1e-10
        if len(kept) == 1:
            assert abs(rate) < 1e-10


def binned_rate(kept, edges):
    """The same as `projected_rate` of the cells in which two coordinates lie: Gauss-Legendre in each cell."""
    u, weight = np.polynomial.legendre.leggauss(4)
    nodes = [(e[:-1, None] + e[1:, None] + np.diff(e)[:, None] * u).reshape(-1) / 2 for e in edges]
    grid = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    C, rows = SYSTEM.covariance, np.ix_(kept, kept)
    later = (C @ transition(SYSTEM, DT)[0].T)[rows]
    S = np.linalg.inv(np.block([[C[rows], later], [later.T, C[rows]]]))
    now, then = (np.einsum("ni,ij,nj->n", grid, part, grid) for part in (S[:2, :2], S[2:, 2:]))
    p = np.exp(-now[:, None] / 2 - then / 2 - grid @ S[:2, 2:] @ grid.T)
    bins = len(edges[0]) - 1
    p = np.einsum("abcdefgh,b,d,f,h->aceg", p.reshape((bins, 4) * 4), *[weight] * 4)
    p = p.reshape(bins**2, bins**2) / p.sum()
    return float(np.sum(p * np.log(p / p.T)) / DT)


@pytest.mark.parametrize("pair", [(0, 1), (1, 2)])
def test_counting_a_pair_finds_what_its_cells_show_and_no_more(pair):
    bins = 10
    data = SYSTEM.simulate(seed=0).select_coordinates([f"z{k + 1}" for k in pair])
    counted = count_entropy_production(data, bins)
    states = np.concatenate(data.states)
    truth = binned_rate(
        pair,
        [np.linspace(low, high, bins + 1) for low, high in zip(states.min(0), states.max(0), strict=True)],
    )
    assert truth < projected_rate(SYSTEM, pair, DT) < SYSTEM.entropy_production_rate
    assert counted.result == "ok"
    # Over 20 seeds: off by .3 and .1 errors on average, at most by 2.3 and 1.3.
    assert abs(counted.excess - truth) < 5 * np.hypot(counted.standard_error, counted.null_spread)


@pytest.mark.parametrize("name", ["z1", "z5"])
def test_a_single_coordinate_is_like_its_null(name):
    """Its stationary paths are as likely in reverse."""
    counted = count_entropy_production(SYSTEM.simulate(seed=0).select_coordinates([name]), 10)
    assert counted.result.code == "like_null"
