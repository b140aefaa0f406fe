"""Systems that nobody chose: V, sigma, W and the way of recording drawn by a seed, with their truth."""

from .draw import RandomSystem as RandomSystem
from .draw import random_system as random_system
from .dynamics import RandomDynamics as RandomDynamics
