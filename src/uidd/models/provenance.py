"""Where a result comes from: versions, device, commit, command."""

import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import jax

_PACKAGES = (
    "uidd",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "diffrax",
    "blackjax",
    "optimistix",
    "numpy",
    "scipy",
    "polars",
    "plotly",
)


def environment() -> dict[str, str]:
    """Versions, machine and device, as far as they can be told; nothing that names a person."""
    device = jax.devices()[0]
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": f"{device.platform}: {device.device_kind}",
        "commit": _commit(),
        **{name: _version(name) for name in _PACKAGES},
    }


def command() -> str:
    """The command line of this process, without the interpreter's own path."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """The commit of the source tree this package is run from, if it is one.

    An installed package may lie inside somebody else's checkout, whose commit would say nothing.
    """
    here = Path(__file__)
    try:
        _git("ls-files", "--error-unmatch", here.name, cwd=here.parent)
        return _git("describe", "--always", "--dirty", "--abbrev=12", cwd=here.parent)
    except (OSError, subprocess.SubprocessError):
        return "not a checkout"


def _git(*words: str, cwd: Path) -> str:
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, timeout=5, check=True)
    return done.stdout.strip()
