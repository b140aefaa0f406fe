"""Transition densities, one a file: the strategy object that `fit` receives."""

from .abstract import AbstractLikelihood as AbstractLikelihood
from .euler_maruyama import EulerMaruyama as EulerMaruyama
