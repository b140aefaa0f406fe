"""Systems with a known answer, one a file: equations, truth, generator."""

from .beads import Beads as Beads
from .double_well import DoubleWell as DoubleWell
from .driven_wells import DrivenWells as DrivenWells
from .gyrator import Gyrator as Gyrator
from .linear import Linear as Linear
from .linear_diffusion import AbstractLinearDiffusion as AbstractLinearDiffusion
from .metastable import Metastable as Metastable
from .muller_brown import MullerBrown as MullerBrown
from .registry import SYSTEMS as SYSTEMS
from .registry import System as System
from .registry import system as system
from .trap import Trap as Trap
from .varying_noise import VaryingNoise as VaryingNoise
