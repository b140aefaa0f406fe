"""The stochastic differential equation, its reversible and irreversible parts, and time reversal."""

from .abstract import AbstractDrift as AbstractDrift
from .abstract import AbstractDynamics as AbstractDynamics
from .abstract import AbstractEquation as AbstractEquation
from .closed_form import ClosedFormDynamics as ClosedFormDynamics
from .components import ComponentDynamics as ComponentDynamics
from .decomposition import Decomposition as Decomposition
from .decomposition import decompose as decompose
from .divergence import divergence as divergence
from .divergence import matrix_divergence as matrix_divergence
from .triangular import cholesky as cholesky
from .triangular import solve_lower as solve_lower
from .triangular import solve_positive as solve_positive
