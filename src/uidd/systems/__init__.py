"""Systems with a known answer, one a file: equations, truth, generator."""

from .linear import Linear as Linear
