"""How far the draws of a batch size are from those of the full batch."""

import numpy as np

from ..sampling import maximum_mean_discrepancy
from ..thermodynamics import Estimate

MOST = 3000


def discrepancy(states: np.ndarray, reference: np.ndarray | None) -> Estimate | None:
    """The squared maximum mean discrepancy to draws of the full batch; nothing where there are none.

    In coordinates of the full batch's unit deviation, with gamma = 1 / (2 D). At most `MOST` evenly spaced
    draws of each are compared, as if they were independent: the error is too small where they are not.
    """
    if reference is None:
        return None
    full = reference.reshape(-1, states.shape[1])
    scale = full.std(axis=0)
    x, y = (each[:: -(-len(each) // MOST)] / scale for each in (states, full))
    found = maximum_mean_discrepancy(x, y, gamma=1 / (2 * states.shape[1]))
    return Estimate(found.unbiased, found.standard_error)
