"""Peers give estimates, and say in words when they cannot."""

import sys

import numpy as np
import pytest

from uidd import InputError, Trajectories
from uidd.experiments.peers import counting, sfi, sfi_force


def walk(dimension):
    generator = np.random.default_rng(0)
    return Trajectories.from_arrays([generator.standard_normal((50, dimension)) for _ in range(4)], dt=0.1)


def test_counting_has_the_null_beside_it():
    """Independent frames are reversible: the rate is within five null spreads of the null."""
    counted = counting(walk(2))
    assert abs(counted.rate - counted.null) < 5 * counted.null_spread


def test_counting_is_not_judged_above_three_dimensions():
    counted = counting(walk(4))
    assert np.isnan(counted.rate) and counted.result == "not_judged"


@pytest.mark.parametrize("peer", [sfi, sfi_force])
def test_a_peer_that_is_not_installed_names_the_extra(peer, monkeypatch):
    monkeypatch.setitem(sys.modules, "SFI", None)
    monkeypatch.setitem(sys.modules, "SFI.bases", None)
    with pytest.raises(InputError, match=r"pip install 'uidd\[peers\]'"):
        peer(walk(2))
