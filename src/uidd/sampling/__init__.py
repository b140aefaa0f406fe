"""Trajectories of given dynamics, draws from their stationary density, and how far two sets of draws are."""

from .discrepancy import Discrepancy as Discrepancy
from .discrepancy import maximum_mean_discrepancy as maximum_mean_discrepancy
from .reach import Reach as Reach
from .simulate import Simulation as Simulation
from .simulate import simulate as simulate
from .stationary import StationarySamples as StationarySamples
from .stationary import sample_stationary as sample_stationary
