"""Maximum-likelihood training: start, loop, checkpoints."""

from .checks.verdicts import Check as Check
from .checks.verdicts import Checks as Checks
from .ensemble import draw_ensemble as draw_ensemble
from .fit import fit as fit
from .held_out import HeldOutError as HeldOutError
from .held_out import held_out_error as held_out_error
from .history import EpochRecord as EpochRecord
from .known_equation import KnownEquation as KnownEquation
from .known_equation import solve_for_potential as solve_for_potential
from .records import AbstractFit as AbstractFit
from .records import Fit as Fit
from .records import Trained as Trained
from .regression.gains import Gain as Gain
from .regression.linear import LinearModel as LinearModel
from .regression.linear import fit_linear as fit_linear
from .replicas.networks import Replicas as Replicas
from .replicas.networks import fit_replicas as fit_replicas
from .solvers.plan import Plan as Plan
from .trainable import Trainable as Trainable
