"""How far the draws of a batch size are from those of the full batch."""

import numpy as np

from ..thermodynamics import Estimate


def discrepancy(states: np.ndarray, reference: np.ndarray | None) -> Estimate | None:
    """The maximum mean discrepancy to draws of the full batch; nothing where there are none.

    The place for `uidd.sampling.maximum_mean_discrepancy(x, y, gamma=1.0)`: its `unbiased` value with its
    `standard_error`. Until that is there, nothing is said.
    """
    return None
