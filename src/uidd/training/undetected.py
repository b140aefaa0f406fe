"""Currents that a fit does not detect: how much they may dissipate."""

import numpy as np
import scipy.optimize

from .regression.features import IN_CELLS
from .solvers.local_posterior import LOG_PRIOR_ODDS


def rate_worth(nats: float, total_time: float) -> float:
    """The rate of a current that gains so many nats in this time.

    One that is left out and dissipates S costs S T / 4 nats: log-densities differ by |df|^2 dt / 4 in the
    metric M^-1, and S is the mean of |f_irr|^2.
    """
    return 4 * nats / total_time


def share_of_currents(dimension: int) -> float:
    """Of a drift that is missed, if nothing is known about it: of D components a gradient makes up one."""
    return (dimension - 1) / dimension


def undetected_nats(dimension: int) -> float:
    """How many nats a current may be worth that a fit overlooks, as a root mean square.

    A fit looks for currents with some tens of units, and its checks look into `IN_CELLS` features of cells
    of states. A vortex could turn in any plane of any of these cells: k = D (D - 1) / 2 numbers a cell. If
    each is so large that they are worth n nats together, their evidence is n - k log(1 + 2 n / k) / 2, about
    n^2 / k: what could be anything needs many nats before it is told from noise. All currents of less than
    the evidence that is asked for, `LOG_PRIOR_ODDS`, are as likely.
    """
    k = IN_CELLS // (dimension + 1) * dimension * (dimension - 1) / 2
    if not k:
        return 0.0
    lacking = lambda n: n - k * np.log1p(2 * n / k) / 2 - LOG_PRIOR_ODDS  # noqa: E731
    # log(1 + x) < x / 2 + 1 / 5, so nothing lacks at the upper end.
    found = scipy.optimize.root_scalar(lacking, bracket=(0.0, 2 * LOG_PRIOR_ODDS + 2 * k), method="brentq")
    return float(found.root) / 3**0.5
