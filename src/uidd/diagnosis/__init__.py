"""Chains of samplers: is detailed balance broken, by how much, and which batch size is large enough."""

from .chains import Chains as Chains
from .diagnose import diagnose_sampler as diagnose_sampler
from .files import load_chains as load_chains
from .records import BatchDiagnosis as BatchDiagnosis
from .records import SamplerDiagnosis as SamplerDiagnosis
