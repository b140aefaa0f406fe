"""Trajectories from files and into files; one module a family of formats."""

from .load import load_trajectories as load_trajectories
from .save import save_trajectories as save_trajectories
