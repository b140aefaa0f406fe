"""Stat-PINNs: the equilibrium sector."""

from dataclasses import dataclass, field

from ..components import Absent, CirculationSpecification
from ..models import Architecture


@dataclass(frozen=True)
class StatPINNs(Architecture):
    """dZ = [-M grad V + eps div M] dt + sqrt(2 eps M) dB: ours without W, at the temperature eps.

    e^(-V/eps) is the stationary density and V is unique, as in ours; the entropy production is zero whatever
    the data say. The models are of our class, `Model`, and their `potential` is V / eps.

    Reference: S. Huang, Z. He, N. Dirr, J. Zimmer, C. Reina, Statistical-Physics-Informed Neural Networks
    (Stat-PINNs): A machine learning strategy for coarse-graining dissipative dynamics, J. Mech. Phys. Solids
    194, 105908 (2025).
    """

    circulation: CirculationSpecification = field(default_factory=Absent)
