"""Traced programs, kept for the next process: to trace them again takes longer than many a fit computes."""

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.core import Tracer

from ._files import write_atomically

K = TypeVar("K")
# Of a folder for each state of the source, those that were used last.
MOST_FOLDERS = 4
# Whose classes the source alone describes. What others define may change behind the same name.
KNOWN = ("uidd.", "builtins.", "numpy.", "jax.", "jaxlib.")
# When this process began to read the source.
BEGUN = time.time()


class Traced:
    """A function whose programs are read from a folder, or traced and written there.

    JAX keeps what it compiled, but to find it the function has to be traced and lowered first. A traced
    program depends on the source, the versions of JAX and Equinox, the shapes of the numbers and on all that
    is no number; together these are the name of its file. Whatever cannot be kept so (closures, classes and
    functions of others, calls from within another program) is compiled by JAX as ever.

    Args:
        function: Of numbers, pytrees of them, and what does not change.
        run: The same, in the setting that it runs in.
        folder: Where programs are kept; None while they are not.
    """

    def __init__(
        self, function: Callable[..., Any], run: Callable[..., Any], folder: Callable[[], Path | None]
    ):
        self.function, self.run, self.folder = function, run, folder
        self.plain = eqx.filter_jit(run)
        self.programs: dict[Any, Callable[..., Any]] = {}
        self.lock = RLock()

    def __call__(self, *args, **kwargs):
        numbers, rest = eqx.partition((args, kwargs), _is_number)
        leaves, tree = jax.tree.flatten(numbers)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return self.plain(*args, **kwargs)
        leaves = [jnp.asarray(leaf) for leaf in leaves]
        words, other = jax.tree.flatten(rest)
        words = tuple((type(word), word) for word in words)  # 1 and 1.0 are equal, but not the same
        double = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
        shapes = tuple(map(jax.typeof, leaves))
        try:
            program = self.programs.get(key := (tree, other, words, shapes, double))
        except TypeError:  # something that cannot be told apart
            return self.plain(*args, **kwargs)
        if program is not None:
            return program(args, kwargs, leaves)
        with self.lock:  # the first call compiles; others that come meanwhile wait for it
            program = self.programs.get(key) or self._program(args, kwargs, leaves, tree, rest, repr(key))
            found = program(args, kwargs, leaves)
            self.programs[key] = program
            return found

    def _program(self, args, kwargs, leaves, tree, rest, name: str) -> Callable[..., Any]:
        plain = lambda args, kwargs, _: self.plain(*args, **kwargs)  # noqa: E731
        known = _is_known(self.function) and _are_known((args, kwargs))
        folder, state = self.folder(), _state_of_source()
        if folder is None or state is None or not known or " at 0x" in name or "..." in name:
            return plain
        name = f"{self.function.__module__}.{self.function.__qualname__} {jax.default_backend()} {name}"
        path = folder / state / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.program"
        found = None
        with suppress(Exception):  # a file that is damaged, or of another JAX, is traced anew
            found = export.deserialize(bytearray(path.read_bytes()))
        if found is None:

            def flat(*leaves):
                args, kwargs = eqx.combine(jax.tree.unflatten(tree, leaves), rest)
                return self.run(*args, **kwargs)

            try:
                found = export.export(jax.jit(flat))(*leaves)
                written = found.serialize()
            except Exception:  # what has no portable form is compiled as ever, and says what is wrong
                return plain
            with suppress(OSError):
                _forget_old(path.parent)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, bytes(written))
        call = jax.jit(found.call)
        return lambda args, kwargs, leaves: call(*leaves)


def portable(kind: type[K]) -> type[K]:
    """A named tuple that a kept program may return: its name is how the next process knows it."""
    export.register_namedtuple_serialization(kind, serialized_name=f"{kind.__module__}.{kind.__qualname__}")
    return kind


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _is_known(function: Callable[..., Any]) -> bool:
    """Whether its name says all about it: one function of ours, with no values from around it.

    What `jax.vmap` and others make of a function has its name, and a closure.
    """
    named = function.__module__.startswith("uidd.") and "<" not in getattr(function, "__qualname__", "<")
    return named and getattr(function, "__closure__", function) is None


def _are_known(tree: Any) -> bool:
    """Whether all classes in it are ours or JAX's."""
    seen: set[type] = set()
    jax.tree.leaves(tree, is_leaf=lambda node: bool(seen.add(type(node))))
    return all(f"{kind.__module__}.".startswith(KNOWN) for kind in seen)


@functools.cache
def _state_of_source() -> str | None:
    """A short name for the source of this package and the versions of those that trace it.

    None where a file was changed after it may have been read: what runs is then not what lies there.
    """
    found = hashlib.sha256(f"{jax.__version__} {eqx.__version__} {np.__version__}".encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.stat().st_mtime > BEGUN:
            return None
        found.update(path.read_bytes())
    return f"traced-{found.hexdigest()[:16]}"


def _forget_old(folder: Path) -> None:
    """All but the newest folders, when a new one is about to be made."""
    if folder.exists():
        return
    others = sorted(folder.parent.glob("traced-*"), key=os.path.getmtime, reverse=True)
    for old in others[MOST_FOLDERS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
