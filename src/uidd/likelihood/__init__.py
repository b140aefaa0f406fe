"""Transition densities, one a file: the strategy object that `fit` receives."""

from .abstract import AbstractLikelihood as AbstractLikelihood
from .choice import StepChoice as StepChoice
from .choice import choose_steps as choose_steps
from .cubature import Cubature as Cubature
from .dyngma import DynGMA as DynGMA
from .euler_maruyama import EulerMaruyama as EulerMaruyama
from .gaussian import AbstractGaussian as AbstractGaussian
from .gaussian import Straight as Straight
from .mean_increment import MeanIncrement as MeanIncrement
