"""The shape of a potential: any function z -> float."""

from .barrier import barrier as barrier
from .barrier import barriers as barriers
from .barrier import survey as survey
from .minima import find_minima as find_minima
from .path import minimum_energy_path as minimum_energy_path
from .projection import project as project
from .rates import PassageTime as PassageTime
from .rates import eyring_kramers_time as eyring_kramers_time
from .rates import passage_time as passage_time
from .records import Barrier as Barrier
from .records import EnergyPath as EnergyPath
from .records import Landscape as Landscape
from .records import Projection as Projection
from .records import StationaryPoint as StationaryPoint
from .saddles import find_saddle as find_saddle
from .saddles import find_saddles as find_saddles
