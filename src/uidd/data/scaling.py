"""The map between the user's units and the unit-size coordinates in which networks learn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .trajectories import Trajectories
from .transitions import Transitions


@dataclass(frozen=True)
class Scaling:
    """z = center + scale * x and t = time * s: affine in every coordinate and in time.

    With A = diag(scale) and tau = `time`, a system learned in (x, s) reads in (z, t)

        V_z = V_x + log |det A|,   f_z = A f_x / tau,   sigma_z = A sigma_x / sqrt(tau),
        M_z = A M_x A / tau,       W_z = A W_x A / tau,

    and the entropy production rate is divided by tau. A diagonal A keeps sigma lower triangular and
    W in its banded form.
    """

    center: tuple[float, ...]
    scale: tuple[float, ...]
    time: float

    @classmethod
    def identity(cls, dimension: int) -> "Scaling":
        """The map that changes nothing."""
        return cls((0.0,) * dimension, (1.0,) * dimension, 1.0)

    @classmethod
    def of(cls, data: Trajectories) -> "Scaling":
        """Unit standard deviation in every coordinate, and unit diffusion in time.

        The time unit is chosen so that the mean squared increment of a scaled coordinate is one per
        unit of time; sigma is then of size one whatever the frame rate.
        """
        states = np.concatenate(data.states)
        center, scale = states.mean(axis=0), states.std(axis=0)
        pairs = data.transitions()
        spread = np.mean((pairs.increment / scale) ** 2, axis=1) / pairs.dt
        time = 1.0 / float(np.mean(spread))
        return cls(tuple(map(float, center)), tuple(map(float, scale)), time)

    @classmethod
    def of_transitions(cls, parts: Sequence[Transitions]) -> "Scaling":
        """The same for pairs that begin far out: the size is that of the middle half of the states.

        For a Gaussian it is the standard deviation; a few states on their way in do not change it.
        """
        start = np.concatenate([part.start for part in parts])
        low, center, high = np.quantile(start, (0.25, 0.5, 0.75), axis=0)
        scale = (high - low) / 1.3489795
        spread = [np.mean((part.increment / scale) ** 2, axis=1) / part.dt for part in parts]
        time = 1.0 / float(np.median(np.concatenate(spread)))
        return cls(tuple(map(float, center)), tuple(map(float, scale)), time)

    @property
    def log_determinant(self) -> float:
        """log |det A|."""
        return float(np.sum(np.log(self.scale)))

    def to_unit(self, z):
        """User coordinates to unit-size ones. NumPy arrays are mapped in their own precision."""
        return (z - np.asarray(self.center)) / np.asarray(self.scale)

    def to_user(self, x):
        """Unit-size coordinates to the user's."""
        return np.asarray(self.center) + np.asarray(self.scale) * x

    def transitions_to_unit(self, pairs: Transitions) -> Transitions:
        """Scale pairs; the offset does not enter the increments."""
        return Transitions(
            self.to_unit(pairs.start), pairs.increment / np.asarray(self.scale), pairs.dt / self.time
        )
