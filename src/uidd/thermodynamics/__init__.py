"""Entropy production in all its forms, with error bars."""

from .counting import CountedEntropyProduction as CountedEntropyProduction
from .counting import count_entropy_production as count_entropy_production
from .cross_fitted import CrossFitted as CrossFitted
from .cross_fitted import cross_fitted as cross_fitted
from .cross_fitted import cross_fitted_entropy_production as cross_fitted_entropy_production
from .cross_fitted import cross_fitted_fisher_information as cross_fitted_fisher_information
from .cross_fitted import cross_fitted_work as cross_fitted_work
from .cross_fitted import score_gap as score_gap
from .current import current_flow as current_flow
from .current import current_velocity as current_velocity
from .entropy_production import entropy_production_rate as entropy_production_rate
from .entropy_production import irreducible_spread as irreducible_spread
from .entropy_production import local_entropy_production as local_entropy_production
from .entropy_production import system_entropy_production as system_entropy_production
from .headline import compared as compared
from .headline import entropy_production as entropy_production
from .headline import in_stretches as in_stretches
from .records import Estimate as Estimate
from .variational import Minimiser as Minimiser
from .variational import variational_entropy_production as variational_entropy_production
