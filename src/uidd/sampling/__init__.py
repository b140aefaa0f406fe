"""Trajectories of given dynamics, and draws from their stationary density."""

from .simulate import Simulation as Simulation
from .simulate import simulate as simulate
from .stationary import StationarySamples as StationarySamples
from .stationary import sample_stationary as sample_stationary
