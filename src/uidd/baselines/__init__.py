"""The models that ours is compared with, one a file. Each is given to `fit` as its `architecture`."""

from .abstract import AbstractBaseline as AbstractBaseline
from .gauge import regauged as regauged
from .gfinn import GFINN as GFINN
from .model import BaselineModel as BaselineModel
from .model import StochasticBaselineModel as StochasticBaselineModel
from .onsager import Onsager as Onsager
from .onsager_net import OnsagerNet as OnsagerNet
from .stat_pinns import StatPINNs as StatPINNs
from .stochastic_onsager_net import StochasticOnsagerNet as StochasticOnsagerNet
