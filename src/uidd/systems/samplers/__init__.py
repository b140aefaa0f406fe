"""Stochastic gradient Langevin dynamics: the chains, and the equation that each of them stands for."""

from .equation import SamplerEquation as SamplerEquation
from .equation import stationary_states as stationary_states
from .gradients import sgld as sgld
from .ica import sgld_ica as sgld_ica
from .ica import without_labels as without_labels
from .least_squares import sgld_least_squares as sgld_least_squares
from .matrix import read_matrix as read_matrix
from .relations import four_term_relations as four_term_relations
from .sampler import Run as Run
from .sampler import Sampler as Sampler
from .small_step import SmallStep as SmallStep
from .small_step import small_step_limit as small_step_limit
from .small_step import stationary_covariance as stationary_covariance
