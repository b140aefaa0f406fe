"""Maximum-likelihood training: start, loop, checkpoints."""

from .ensemble import draw_ensemble as draw_ensemble
from .fit import fit as fit
from .gains import Gain as Gain
from .held_out import HeldOutError as HeldOutError
from .held_out import held_out_error as held_out_error
from .history import EpochRecord as EpochRecord
from .known_equation import KnownEquation as KnownEquation
from .known_equation import solve_for_potential as solve_for_potential
from .linear_start import LinearModel as LinearModel
from .linear_start import fit_linear as fit_linear
from .plan import Plan as Plan
from .records import Fit as Fit
from .records import Trained as Trained
from .replicas import Replicas as Replicas
from .replicas import fit_replicas as fit_replicas
from .trainable import Trainable as Trainable
from .verdicts import Check as Check
from .verdicts import Checks as Checks
