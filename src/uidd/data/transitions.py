"""Pairs of successive frames: what a transition likelihood sees."""

from typing import NamedTuple

import numpy as np


class Transitions(NamedTuple):
    """Successive pairs (Z_k, Z_{k+1} - Z_k, dt_k), all trajectories behind one another.

    The increment is formed in float64 before anything is rounded: for small steps far from the
    origin the difference of two rounded states would hold few digits.
    """

    start: np.ndarray
    increment: np.ndarray
    dt: np.ndarray
