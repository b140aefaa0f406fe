"""What to build: one specification for each component, by name or by hand."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from .._checks import InputError, fail, one_of, positive
from .._programs import compiled
from ..components import (
    Absent,
    CirculationSpecification,
    Constant,
    DiffusionSpecification,
    Drawn,
    Full,
    PotentialSpecification,
    Quadratic,
    SumOfSquares,
    Triangular,
    Tridiagonal,
    Uniform,
    Varying,
)
from ..components.specification import AbstractSpecification
from ..dynamics import ComponentDynamics

# By name, as they are stored. A new kind is one more here.
KINDS: dict[str, tuple[type[AbstractSpecification], ...]] = {
    "potential": (Quadratic, SumOfSquares),
    "diffusion": (Varying, Triangular, Constant),
    "circulation": (Drawn, Tridiagonal, Full, Uniform, Absent),
}


@dataclass(frozen=True)
class Architecture:
    """The networks of a model, independent of the dimension of the state.

    >>> Architecture.named("polymer").potential.activation
    'shifted_requ'
    """

    potential: PotentialSpecification = field(default_factory=Quadratic)
    diffusion: DiffusionSpecification = field(default_factory=Varying)
    circulation: CirculationSpecification = field(default_factory=Drawn)
    temperature: float = 1.0

    def __post_init__(self) -> None:
        positive("temperature", self.temperature)
        for name, kinds in KINDS.items():
            if not isinstance(part := getattr(self, name), kinds):
                fail(name, " or ".join(kind.__name__ for kind in kinds), repr(part))

    @property
    def trains_hidden_layers(self) -> bool:
        """Whether some network's hidden layers have to be trained; the default's are drawn at random."""
        return any(part.trains_hidden_layers for part in (self.potential, self.diffusion, self.circulation))

    @property
    def plain(self) -> "Architecture":
        """Without networks: a linear drift and constant noise."""
        return replace(
            self,
            potential=self.potential.plain,
            diffusion=self.diffusion.plain,
            circulation=self.circulation.plain,
        )

    @classmethod
    def named(cls, name: str) -> "Architecture":
        """`default`, or one of the paper's settings: `linear`, `polymer`, `sgld`."""
        return ARCHITECTURES[one_of("architecture", name, ARCHITECTURES)]

    def build(self, dimension: int, *, key: PRNGKeyArray) -> ComponentDynamics:
        """Random weights for a state of `dimension` coordinates."""
        return _built(self, dimension, key)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and words."""
        parts = {name: getattr(self, name) for name in KINDS}
        return {
            **{name: {"kind": type(part).__name__, **asdict(part)} for name, part in parts.items()},
            "temperature": self.temperature,
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> "Architecture":
        """The inverse of `to_dict`; anything unknown is an error in one sentence."""
        try:
            parts = {}
            for name, kinds in KINDS.items():
                options = dict(value[name])
                kind = {each.__name__: each for each in kinds}[options.pop("kind")]
                parts[name] = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in options.items()})
            return cls(**parts, temperature=float(value["temperature"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The specification of this model is not known to this version of uidd ({error!r})."
            ) from error


@compiled  # one program, instead of one for each of many small draws
def _built(architecture: Architecture, dimension: int, key: PRNGKeyArray) -> ComponentDynamics:
    keys = jax.random.split(key, 3)
    return ComponentDynamics(
        architecture.potential.build(dimension, key=keys[0]),
        architecture.diffusion.build(dimension, key=keys[1]),
        architecture.circulation.build(dimension, key=keys[2]),
        architecture.temperature,
    )


ARCHITECTURES: dict[str, Architecture] = {
    "default": Architecture(),
    "linear": Architecture(
        SumOfSquares(widths=(64, 32), activation="recu"),
        Constant("full"),
        Tridiagonal(widths=(32, 16), activation="recu"),
    ),
    "polymer": Architecture(
        SumOfSquares(widths=(128,), activation="shifted_requ"), Constant("diagonal"), Tridiagonal()
    ),
    "sgld": Architecture(SumOfSquares(), Triangular(), Tridiagonal()),
}
