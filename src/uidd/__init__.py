"""Learn identifiable dissipative dynamics from trajectories.

    dZ = [-(M + W) grad V + div M + div W] dt + sigma dB,    M = sigma sigma^T / 2,  W = -W^T

Names are loaded when they are first used, so that `import uidd` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._checks import InputError as InputError
    from ._types import Result as Result
    from .data import Trajectories as Trajectories
    from .data import load_trajectories as load_trajectories
    from .data import save_trajectories as save_trajectories
    from .diagnosis import diagnose_sampler as diagnose_sampler
    from .dynamics import decompose as decompose
    from .landscape import barrier as barrier
    from .landscape import barriers as barriers
    from .landscape import find_minima as find_minima
    from .landscape import find_saddle as find_saddle
    from .landscape import minimum_energy_path as minimum_energy_path
    from .landscape import project as project
    from .likelihood import Cubature as Cubature
    from .likelihood import DynGMA as DynGMA
    from .likelihood import EulerMaruyama as EulerMaruyama
    from .models import Architecture as Architecture
    from .models import Ensemble as Ensemble
    from .models import Model as Model
    from .models import load_model as load_model
    from .models import save_model as save_model
    from .sampling import sample_stationary as sample_stationary
    from .sampling import simulate as simulate
    from .thermodynamics import count_entropy_production as count_entropy_production
    from .thermodynamics import current_flow as current_flow
    from .thermodynamics import current_velocity as current_velocity
    from .thermodynamics import entropy_production as entropy_production
    from .thermodynamics import entropy_production_rate as entropy_production_rate
    from .thermodynamics import local_entropy_production as local_entropy_production
    from .thermodynamics import system_entropy_production as system_entropy_production
    from .training import Fit as Fit
    from .training import Plan as Plan
    from .training import fit as fit

__version__ = "0.1.0"

_HOMES = {
    "_checks": ("InputError",),
    "_types": ("Result",),
    "data": ("Trajectories", "load_trajectories", "save_trajectories"),
    "diagnosis": ("diagnose_sampler",),
    "dynamics": ("decompose",),
    "landscape": ("barrier", "barriers", "find_minima", "find_saddle", "minimum_energy_path", "project"),
    "likelihood": ("Cubature", "DynGMA", "EulerMaruyama"),
    "models": ("Architecture", "Ensemble", "Model", "load_model", "save_model"),
    "sampling": ("sample_stationary", "simulate"),
    "thermodynamics": (
        "count_entropy_production",
        "current_flow",
        "current_velocity",
        "entropy_production",
        "entropy_production_rate",
        "local_entropy_production",
        "system_entropy_production",
    ),
    "training": ("Fit", "Plan", "fit"),
}
_ROOMS = (
    "baselines",
    "components",
    "data",
    "diagnosis",
    "dynamics",
    "experiments",
    "landscape",
    "likelihood",
    "models",
    "plotting",
    "report",
    "sampling",
    "systems",
    "thermodynamics",
    "training",
)
_HOME_OF = {name: room for room, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF), *_ROOMS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'uidd' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
