"""What we learn from: recorded trajectories, their files, their pairs of frames, their units."""

from .files import load_trajectories as load_trajectories
from .files import save_trajectories as save_trajectories
from .scaling import Scaling as Scaling
from .trajectories import Trajectories as Trajectories
from .transitions import Transitions as Transitions
