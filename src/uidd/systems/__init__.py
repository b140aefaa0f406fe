"""Systems with a known answer, one a file: equations, truth, generator."""

from .linear import Linear as Linear
from .registry import SYSTEMS as SYSTEMS
from .registry import System as System
from .registry import system as system
