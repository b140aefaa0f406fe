"""From numbers to a model: architecture, units, files."""

from .architecture import ARCHITECTURES as ARCHITECTURES
from .architecture import Architecture as Architecture
from .coefficients import Coefficients as Coefficients
from .container import Container as Container
from .ensemble import Ensemble as Ensemble
from .files import load_model as load_model
from .files import load_provenance as load_provenance
from .files import save_model as save_model
from .model import Model as Model
from .provenance import environment as environment
