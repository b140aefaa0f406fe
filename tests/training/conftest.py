"""One small fit that many tests look at."""

import jax
import numpy as np
import pytest

from uidd.components import Constant, Full, SumOfSquares
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture
from uidd.systems import Linear
from uidd.training import Plan, fit

SETTINGS = {
    "seed": 3,
    "architecture": Architecture(SumOfSquares(8, (16,)), Constant("full"), Full((8,))),
    "likelihood": EulerMaruyama(),
    "plan": Plan(steps=200, steps_per_epoch=20, batch=256),
    "progress": False,
}


@pytest.fixture(scope="session")
def settings():
    return SETTINGS


@pytest.fixture(scope="session")
def data():
    return Linear().simulate(300, 51)


@pytest.fixture(scope="session")
def fitted(data):
    return fit(data, **SETTINGS)


@pytest.fixture(scope="session")
def same_fit():
    """Whether two fits agree in every bit of every weight and in every record of the history."""

    def same(a, b):
        leaves = zip(jax.tree.leaves(a.model), jax.tree.leaves(b.model), strict=True)
        return a.history == b.history and all(np.array_equal(x, y) for x, y in leaves)

    return same
