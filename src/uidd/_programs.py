"""How programs are compiled: products in the full precision of their numbers, and kept for the next time."""

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import jax

from ._traced import Traced

P = ParamSpec("P")
T = TypeVar("T")
# `off`, or another folder for compiled programs.
CACHE_VARIABLE = "UIDD_CACHE"
MAPS, MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """`eqx.filter_jit`, without the short products of GPUs, and traced once for all processes.

    Left alone, JAX multiplies single precision matrices there with a mantissa of 10 bits. The log-density of
    a pair is a difference of large numbers: on the linear case the error of the rate doubles.
    """

    @functools.wraps(function)
    def precise(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    traced = Traced(function, precise, _folder_of_traced)

    @functools.wraps(function)
    def kept(*args: P.args, **kwargs: P.kwargs) -> T:
        return traced(*args, **kwargs)

    return kept


def _folder_of_traced() -> Path | None:
    """Beside compiled programs, if these are kept where we keep them."""
    folder = cache_folder()
    chosen = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    return folder if folder is not None and chosen == str(folder) else None


def make_room() -> None:
    """Forget compiled programs before there are too many for the system.

    Every program on a CPU holds maps of memory, of which Linux gives a process some 65,000; at the limit the
    compiler stops the whole process. After twenty to thirty fits in one session that would happen.
    """
    try:
        used = MAPS.read_bytes().count(b"\n")
        limit = int(MOST_MAPS.read_bytes())
    except (OSError, ValueError):  # another system, which counts otherwise
        return
    if used > limit / 2:
        jax.clear_caches()


def cache_folder() -> Path | None:
    """Where compiled programs are kept: UIDD_CACHE, or the user's cache folder; None if it says `off`.

    Programs hold instructions of the processor that they were compiled on, so every kind has a folder.
    """
    wanted = os.environ.get(CACHE_VARIABLE, "")
    if wanted.lower() in ("off", "0", "no", "false"):
        return None
    if wanted:
        return Path(wanted).expanduser()
    if sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "uidd" / f"programs-{_processor()}"


def keep_programs() -> Path | None:
    """Have JAX keep compiled programs in `cache_folder`, and return it; None where that is not possible.

    A folder that somebody has chosen for JAX stays. What cannot be read there is compiled anew by JAX.
    """
    if jax.config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
        return Path(jax.config.jax_compilation_cache_dir)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        folder = cache_folder()
        if folder is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            return None
    except (OSError, RuntimeError):  # no home, no room, a file in its place
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Many of the programs are small: together they take as long as the large ones.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder


@functools.cache
def _processor() -> str:
    """A short name for what the processor can do."""
    try:
        known = {line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")}
        words = "".join(sorted(known))
    except OSError:
        words = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {words}".encode()).hexdigest()[:12]
