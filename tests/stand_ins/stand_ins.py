"""Equations and models that tests in several rooms put in the place of learned ones."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np

from uidd.components import Constant, Quadratic, Uniform
from uidd.data import Scaling
from uidd.dynamics import AbstractEquation, ClosedFormDynamics
from uidd.models import Architecture, Model
from uidd.training import LinearModel
from uidd.training.regression.linear import start_from_linear


class Hidden(AbstractEquation):
    """f and sigma of known dynamics, and nothing else of them."""

    known: ClosedFormDynamics

    def drift_and_diffusion(self, z):
        return self.known.drift_and_diffusion(z)

    def diffusion(self, z):
        return self.known.diffusion(z)


def linear_model(dissipation, circulation, stiffness, scaling: Scaling) -> Model:
    """A model that is a linear system in user units, with units of its own inside."""
    A, tau = np.diag(scaling.scale), scaling.time
    inside = np.linalg.inv(A)
    linear = LinearModel(
        inside @ -np.asarray(scaling.center),
        A @ stiffness @ A,
        inside @ np.linalg.cholesky(2 * dissipation) * tau**0.5,
        inside @ circulation @ inside * tau,
        None,
    )
    architecture = Architecture(Quadratic(width=0), Constant("full"), Uniform("full"))
    built = architecture.build(len(stiffness), key=jax.random.key(0))
    return Model(start_from_linear(built, linear, key=jax.random.key(1)), architecture, scaling)


@dataclass(frozen=True)
class Groups:
    """What a quadratic model needs of `Coefficients`: the group of each (-1: none), and whose it is."""

    group: np.ndarray
    group_owner: tuple[int, ...] = ()
    usual: float = 1.0

    @cached_property
    def groups(self):
        return int(self.group.max()) + 1

    @property
    def penalised(self):
        return self.group >= 0

    @property
    def usual_precision(self):
        return np.full(self.groups, self.usual)

    def __post_init__(self):
        owner = self.group_owner or np.zeros(self.groups, int)
        object.__setattr__(self, "group_owner", np.asarray(owner))
