"""The studies that `uidd reproduce` runs: a module with `reproduce` each."""

import importlib
from types import ModuleType

STUDIES = {
    "linear": "linear",
    "identifiability": "identifiability.study",
    "sgld-least-squares": "sgld.least_squares",
    "sgld-ica": "sgld.ica",
}


def study(name: str) -> ModuleType:
    """Imported when it is asked for."""
    return importlib.import_module(f".{STUDIES[name]}", __package__)
