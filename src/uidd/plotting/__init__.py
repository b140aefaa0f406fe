"""Arrays in, figures out; nothing is computed here but pictures."""

from .barriers import barrier_map as barrier_map
from .barriers import barrier_profiles as barrier_profiles
from .curves import drift_curve as drift_curve
from .curves import potential_curve as potential_curve
from .diagnosis import diagnosis_figure as diagnosis_figure
from .field_map import field_map as field_map
from .local_entropy_map import local_entropy_map as local_entropy_map
from .marginals import marginals as marginals
from .plane import Plane as Plane
from .potential_map import potential_map as potential_map
from .style import axis_label as axis_label
from .training_curves import training_curves as training_curves
from .trajectories import Band as Band
from .trajectories import trajectories as trajectories
