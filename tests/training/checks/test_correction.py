"""What a mean over e^-V misses: against linear currents, whose first variation has a closed form."""

from dataclasses import replace

import numpy as np
import pytest

from stand_ins import linear_model
from uidd.data import Scaling, Transitions
from uidd.likelihood import EulerMaruyama
from uidd.training.checks.correction import rate_correction

DT, PATHS, FRAMES = 0.01, 400, 100
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
SCALING = Scaling((0.5, -1.0), (2.0, 0.3), 4.0)


def recorded(w, seed):
    """Euler paths of dz = -(1 + w J) z dt + sqrt(2) dB from a box, in units of SCALING."""
    generator = np.random.default_rng(seed)
    z, states = generator.uniform(-4, 4, (PATHS, 2)), []
    for _ in range(FRAMES + 1):
        states.append(z)
        z = z - DT * z @ (np.eye(2) + w * TURN).T + (2 * DT) ** 0.5 * generator.standard_normal(z.shape)
    path = np.stack(states, axis=1)
    start, increment = path[:, :-1].reshape(-1, 2), np.diff(path, axis=1).reshape(-1, 2)
    return start, increment


@pytest.mark.parametrize("w", [1.0, 1.3])
def test_a_current_that_is_too_weak_lacks_its_first_variation(w):
    """S = 2 w^2 per unit time, so a model with w' = 1 lacks 4 w' (w - w') to first order, and nothing if it
    is right; to four errors."""
    scale, time = np.array(SCALING.scale), SCALING.time
    start, increment = recorded(w, 0)
    outer = np.outer(scale, scale)
    model = linear_model(np.diag(scale**2) / time, TURN * outer / time, np.diag(1 / scale**2), SCALING)
    users = scale * start[::20]
    model = replace(model, anchors=tuple(map(tuple, users[::50].tolist())))
    pairs = Transitions(SCALING.to_unit(scale * start), increment, np.full(len(start), DT))
    found, error = rate_correction(model, EulerMaruyama(), pairs, users, seed=0)
    assert 0 < error * time < 0.5
    assert abs(found * time - 4 * (w - 1)) < 4 * error * time
