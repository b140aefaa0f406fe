"""The shape of a potential: any function z -> float."""

from .minima import find_minima as find_minima
from .records import StationaryPoint as StationaryPoint
