"""Transition densities, one a file: the strategy object that `fit` receives."""

from .abstract import AbstractLikelihood as AbstractLikelihood
from .dyngma import DynGMA as DynGMA
from .euler_maruyama import EulerMaruyama as EulerMaruyama
