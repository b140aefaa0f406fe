"""What many tests share: double precision, quick compilation, a fresh seed, random weights."""

import os
import secrets
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd._programs import _processor
from uidd.models import Architecture

# Seconds that a test may take which is not marked `slow`: twice the five of the rule, since machines differ.
MOST_SECONDS = 10.0
# Of tracing and compiling, so far.
COMPILING: list[float] = []


def pytest_configure():
    """Listen to the compiler."""
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: COMPILING.append(seconds) if "/jax/core/compile" in event else None
    )


def pytest_addoption(parser):
    parser.addoption("--fresh-seed", type=int, help="repeat the identity tests with a seed that one printed")


@pytest.fixture(scope="session", autouse=True)
def compiled_once():
    """What one test has compiled serves the next: in all workers, in commands of tests, in later runs."""
    folder = Path(__file__).parent.parent / ".programs" / _processor()
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "jax_compilation_cache_dir": os.environ.get("JAX_COMPILATION_CACHE_DIR", str(folder)),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)
    # A program that was traced elsewhere would not be traced under a test's own settings.
    os.environ["UIDD_CACHE"] = "off"


@pytest.fixture(autouse=True)
def quick_or_marked_slow(request):
    """What takes longer beside compiling is marked `slow`.

    Processor time of the test's own thread: what others do on the machine makes no test fail.
    """
    begun, compiling = time.thread_time(), sum(COMPILING)
    yield
    took = time.thread_time() - begun - (sum(COMPILING) - compiling)
    if took > MOST_SECONDS and request.node.get_closest_marker("slow") is None:
        pytest.fail(f"It took {took:.1f} s beside compiling: mark it slow, or make it smaller.")


@pytest.fixture(scope="module", autouse=True)
def hardly_optimised(request):
    """In rooms whose tests run a program once, compiling it well takes longer than running it badly."""
    rooms = ("baselines", "components", "dynamics", "likelihood", "models", "sampling", "thermodynamics")
    jax.config.update("jax_disable_most_optimizations", request.path.parent.name in rooms)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="session")
def session_seed(request):
    """One fresh seed a run: identities hold for any."""
    given = request.config.getoption("--fresh-seed")
    return secrets.randbits(32) if given is None else given


@pytest.fixture
def fresh_seed(session_seed):
    """A fresh seed; pytest shows what is printed here when the test fails."""
    print(f"repeat with --fresh-seed {session_seed}")
    return session_seed


@pytest.fixture
def x64():
    """Double precision in this test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def strict_ranks():
    """Arrays of different rank do not broadcast in silence."""
    with jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(scope="session")
def quickly():
    """`jax.jit`, for methods too: those of a module with arrays cannot be hashed, a new function can."""
    return lambda function: jax.jit(lambda *a, **k: function(*a, **k))


@pytest.fixture(scope="session")
def with_random_weights():
    """Standard normal weights over sqrt(inputs) in every array, drawn by NumPy: nothing is compiled."""

    def fill(build, seed):
        generator = np.random.default_rng(seed)

        def draw(leaf):
            if not isinstance(leaf, jax.ShapeDtypeStruct):
                return leaf
            return jnp.asarray(generator.standard_normal(leaf.shape) / max(1, *leaf.shape[:1], 1) ** 0.5)

        return jax.tree.map(draw, eqx.filter_eval_shape(lambda key: build(key=key), jax.random.key(0)))

    return fill


@pytest.fixture(scope="session")
def random_dynamics(with_random_weights):
    """Dynamics of an architecture, named or given, in `dimension` coordinates, with random weights."""

    def build(architecture, dimension, seed):
        if isinstance(architecture, str):
            architecture = Architecture.named(architecture)
        return with_random_weights(lambda key: architecture.build(dimension, key=key), seed)

    return build
