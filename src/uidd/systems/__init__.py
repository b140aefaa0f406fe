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
from .samplers import Run as Run
from .samplers import Sampler as Sampler
from .samplers import SamplerEquation as SamplerEquation
from .samplers import SmallStep as SmallStep
from .samplers import four_term_relations as four_term_relations
from .samplers import read_matrix as read_matrix
from .samplers import sgld as sgld
from .samplers import sgld_ica as sgld_ica
from .samplers import sgld_least_squares as sgld_least_squares
from .samplers import small_step_limit as small_step_limit
from .samplers import stationary_covariance as stationary_covariance
from .samplers import stationary_states as stationary_states
from .samplers import without_labels as without_labels
from .trap import Trap as Trap
from .varying_noise import VaryingNoise as VaryingNoise
