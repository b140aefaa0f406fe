"""Traced programs from a folder: the same numbers, traced once, and never somebody else's."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd import _traced
from uidd._traced import MOST_FOLDERS, Traced
from uidd.components import Network

TRACED = []


def squared(network, z, power):
    """Notes when it is traced."""
    TRACED.append(power)
    return network(z) ** power, {"size": jnp.sum(z)}


squared.__module__ = "uidd.somewhere"  # as if it were ours


@pytest.fixture
def network():
    drawn = Network.drawn(2, 1, 8, (1.0,))
    return eqx.tree_at(lambda n: n.readout, drawn, (jnp.ones((8, 1)), jnp.zeros(1)))


@pytest.fixture(autouse=True)
def nothing_traced():
    TRACED.clear()


def read_from(folder, function=squared):
    """As a new process would see it."""
    return Traced(function, function, lambda: folder)


def files(folder):
    return list(folder.glob("traced-*/*.program"))


def test_a_second_process_reads_what_the_first_one_traced(tmp_path, network):
    z = np.array([0.3, -0.2], np.float32)
    expected = eqx.filter_jit(squared)(network, z, 2)
    TRACED.clear()
    for _ in range(3):
        value, more = read_from(tmp_path)(network, z, 2)
        assert (value == expected[0]).all() and more["size"] == expected[1]["size"]
    assert TRACED == [2] and len(files(tmp_path)) == 1


@_traced.portable
class Both(NamedTuple):
    value: jax.Array
    twice: jax.Array


def as_both(z):
    """Notes when it is traced."""
    TRACED.append(1)
    return Both(z, 2 * z)


as_both.__module__ = "uidd.somewhere"


def test_a_named_tuple_of_ours_comes_back(tmp_path):
    z = jnp.array([0.3, -0.2])
    for _ in range(3):
        found = read_from(tmp_path, as_both)(z)
        assert isinstance(found, Both) and (found.twice == 2 * z).all()
    assert TRACED == [1] and len(files(tmp_path)) == 1


def test_what_is_no_number_and_the_shape_of_numbers_make_another_program(tmp_path, network):
    z = jnp.array([0.3, -0.2])
    first = read_from(tmp_path)(network, z, 2)[0]
    assert read_from(tmp_path)(network, z, 3)[0] == pytest.approx(np.asarray(first) ** 1.5, rel=1e-6)
    wider = Network.drawn(2, 1, 9, (1.0,))
    assert read_from(tmp_path)(wider, z, 2)[0] == 0
    assert TRACED == [2, 3, 2] and len(files(tmp_path)) == 3
    with jax.enable_x64(True):
        assert read_from(tmp_path)(network, np.array([0.3, -0.2]), 2)[1]["size"].dtype == np.float64
    assert len(files(tmp_path)) == 4


def test_another_source_has_another_folder(tmp_path, network, monkeypatch):
    z = jnp.array([0.3, -0.2])
    read_from(tmp_path)(network, z, 2)
    monkeypatch.setattr(_traced, "_state_of_source", lambda: "traced-other")
    read_from(tmp_path)(network, z, 2)
    assert TRACED == [2, 2] and len(files(tmp_path)) == 2


def test_a_source_that_was_changed_since_is_not_kept(tmp_path, network, monkeypatch):
    _traced._state_of_source.cache_clear()
    monkeypatch.setattr(_traced, "BEGUN", 0.0)
    read_from(tmp_path)(network, jnp.array([0.3, -0.2]), 2)
    _traced._state_of_source.cache_clear()
    assert not files(tmp_path)


def test_numbers_that_are_equal_but_not_the_same_make_two_programs(tmp_path, network):
    kept = read_from(tmp_path)
    for power in (1, 1.0, True):
        kept(network, jnp.array([0.3, -0.2]), power)
    assert [type(power) for power in TRACED] == [int, float, bool] and len(files(tmp_path)) == 3


def test_a_damaged_program_is_traced_anew(tmp_path, network):
    z = jnp.array([0.3, -0.2])
    good = read_from(tmp_path)(network, z, 2)[0]
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    for broken in (b"", b"nonsense", whole[: len(whole) // 2]):
        path.write_bytes(broken)
        assert (read_from(tmp_path)(network, z, 2)[0] == good).all()
    assert len(path.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path, network):
    (tmp_path / "file").write_text("")
    value, _ = read_from(tmp_path / "file")(network, jnp.array([0.3, -0.2]), 2)
    assert np.isfinite(value).all()


def test_what_the_source_does_not_tell_is_not_kept(tmp_path, network):
    """A value from around a function, a class or a function of somebody else, may change behind its name."""
    z, factor = jnp.array([0.3, -0.2]), 2.0

    def scaled(z):
        return factor * z

    scaled.__module__ = "uidd.somewhere"
    assert (read_from(tmp_path, scaled)(z) == 2 * z).all()

    mapped = jax.vmap(squared, in_axes=(None, 0, None))
    assert mapped.__qualname__ == squared.__qualname__
    assert read_from(tmp_path, mapped)(network, z[None], 2)[0].shape == (1, 1)

    class Doubling(eqx.Module):
        def __call__(self, z):
            return 2 * z

    for module in (Doubling.__module__, "jaxopt.somewhere"):
        Doubling.__module__ = module
        assert (read_from(tmp_path)(Doubling(), z, 2)[0] == 4 * z**2).all()
    assert (read_from(tmp_path)(lambda z: 3 * z, z, 2)[0] == 9 * z**2).all()
    assert not files(tmp_path)


def test_within_another_program_it_is_a_part_of_that(tmp_path, network):
    kept = read_from(tmp_path)
    slope = jax.grad(lambda z: kept(network, z, 2)[0][0])(jnp.array([0.3, -0.2]))
    expected = jax.grad(lambda z: (network(z) ** 2)[0])(jnp.array([0.3, -0.2]))
    np.testing.assert_allclose(slope, expected, rtol=1e-5)  # single precision
    assert not files(tmp_path)


def test_of_threads_that_come_at_once_one_traces(tmp_path):
    together = threading.Barrier(4)

    def slow(z):
        TRACED.append(1)
        time.sleep(0.2)
        return z + 1

    def one(k):
        together.wait()
        return kept(jnp.full(3, float(k)))

    kept = read_from(tmp_path, slow)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(4)))
    assert [int(each[0]) for each in found] == [1, 2, 3, 4] and TRACED == [1]


def test_folders_of_old_sources_are_forgotten(tmp_path, network):
    for k in range(6):
        (tmp_path / f"traced-{k}").mkdir()
        (tmp_path / f"traced-{k}" / "old.program").write_text("")
    read_from(tmp_path)(network, jnp.array([0.3, -0.2]), 2)
    assert len(list(tmp_path.glob("traced-*"))) == MOST_FOLDERS
