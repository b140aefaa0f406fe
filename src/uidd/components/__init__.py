"""What is learned: the potential V, the diffusion sigma, the circulation W."""

from .activations import ACTIVATIONS as ACTIVATIONS
from .activations import activation as activation
from .circulation import Absent as Absent
from .circulation import AbstractCirculation as AbstractCirculation
from .circulation import ConstantCirculation as ConstantCirculation
from .circulation import Drawn as Drawn
from .circulation import FieldCirculation as FieldCirculation
from .circulation import Full as Full
from .circulation import NoCirculation as NoCirculation
from .circulation import PlaneCirculation as PlaneCirculation
from .circulation import Tridiagonal as Tridiagonal
from .circulation import Uniform as Uniform
from .diffusion import AbstractDiffusion as AbstractDiffusion
from .diffusion import Constant as Constant
from .diffusion import ConstantDiffusion as ConstantDiffusion
from .diffusion import ScaledDiffusion as ScaledDiffusion
from .diffusion import Triangular as Triangular
from .diffusion import TriangularDiffusion as TriangularDiffusion
from .diffusion import Varying as Varying
from .network import Network as Network
from .polynomial import Polynomial as Polynomial
from .potential import AbstractPotential as AbstractPotential
from .potential import Quadratic as Quadratic
from .potential import QuadraticPotential as QuadraticPotential
from .potential import SumOfSquares as SumOfSquares
from .potential import SumOfSquaresPotential as SumOfSquaresPotential
