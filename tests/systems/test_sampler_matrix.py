"""The matrix relat4 against what is published of it, and matrices from files."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from uidd._checks import InputError
from uidd.systems import four_term_relations, read_matrix


@pytest.fixture(scope="module")
def stored(request):
    return read_matrix(request.path.parent / "relat4.mtx")


def test_the_relations_have_the_published_size_entries_norm_and_rank():
    A = four_term_relations()
    assert A.shape == (66, 12)
    assert np.count_nonzero(A) == 172
    assert np.linalg.norm(A, 2) == pytest.approx(8.503794, abs=5e-7)
    assert np.linalg.matrix_rank(A) == 5


def test_the_relations_are_the_stored_matrix_up_to_order(stored):
    """One permutation of columns makes the rows the same multiset.

    Columns are matched one after the other, and a match is kept only while the rows of the columns so far are
    the same multisets; at the end whole rows are compared, so that nothing passes but a true permutation.
    """
    order = column_order(four_term_relations(), stored)
    assert order is not None
    assert sorted(order) == list(range(12))
    assert rows(four_term_relations()[:, order]) == rows(stored)


@pytest.mark.parametrize("entry", [(0, 1), (40, 7), (65, 11)])
def test_a_single_wrong_entry_is_another_matrix(stored, entry):
    wrong = stored.copy()
    wrong[entry] += 1
    assert column_order(four_term_relations(), wrong) is None


def rows(A):
    return sorted(map(tuple, A.tolist()))


def column_order(A, B, found=()):
    """Columns of A that give B up to the order of rows; None if there are none."""
    done = len(found)
    if rows(A[:, list(found)]) != rows(B[:, :done]):
        return None
    if done == B.shape[1]:
        return list(found)
    orders = (column_order(A, B, (*found, k)) for k in range(A.shape[1]) if k not in found)
    return next((order for order in orders if order is not None), None)


def test_every_kind_of_file_gives_the_same_matrix(stored, tmp_path, request):
    text = (request.path.parent / "relat4.mtx").read_bytes()
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(text))
    scipy.io.mmwrite(tmp_path / "dense.mtx", stored)
    scipy.io.savemat(
        tmp_path / "suite.mat", {"Problem": {"A": scipy.sparse.csc_array(stored), "b": np.ones(66)}}
    )
    scipy.io.savemat(tmp_path / "one.mat", {"A": stored, "name": "relat4"})
    scipy.io.savemat(tmp_path / "sparse.MAT", {"A": scipy.sparse.csc_array(stored)}, appendmat=False)
    for name in ("a.mtx.gz", "dense.mtx", "suite.mat", "one.mat", "sparse.MAT"):
        found = read_matrix(str(tmp_path / name))
        assert found.dtype == np.float64
        assert np.array_equal(found, stored), name


def test_a_symmetric_file_is_filled_on_both_sides(tmp_path):
    lines = ["%%MatrixMarket matrix coordinate real symmetric", "2 2 2", "1 1 3.5", "2 1 -1", ""]
    (tmp_path / "s.mtx").write_text("\n".join(lines))
    assert np.array_equal(read_matrix(tmp_path / "s.mtx"), [[3.5, -1], [-1, 0]])


def header(kind, *lines):
    return "\n".join([f"%%MatrixMarket matrix {kind} general", *lines, ""]).encode()


WRONG = {
    "missing.mtx": (None, "There is no such file"),
    "data.csv": (b"1,2", "ends in one of .mtx, .mtx.gz, .mat; got .*data.csv"),
    "text.mtx": (b"no matrix\n", "could not be read"),
    "empty.mtx": (b"", "could not be read"),
    "short.mtx": (header("coordinate real", "3 3 3", "1 1 2.0"), "could not be read"),
    "plain.mtx.gz": (b"no gzip", "could not be read"),
    "cut.mtx.gz": (gzip.compress(header("array real", "2 1", "1.0", "2.0"))[:-12], "could not be read"),
    "complex.mtx": (header("coordinate complex", "1 1 1", "1 1 2.0 1.0"), "Its numbers are complex"),
    "nan.mtx": (header("array real", "2 1", "nan", "1.0"), "finite numbers; got .* 1 are not"),
    "none.mtx": (header("array real", "0 3"), r"rows and columns; got .* shape \(0, 3\)"),
    "text.mat": (b"no matrix" * 30, "could not be read"),
    "empty.mat": (b"", "could not be read"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_holds_no_matrix_is_told_in_one_sentence(name, tmp_path):
    content, sentence = WRONG[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"^`path` must be .*{sentence}") as told:
        read_matrix(tmp_path / name)
    assert "\n" not in str(told.value)


MATLAB = {
    "several": ({"A": np.eye(2), "B": np.eye(3)}, "one matrix, or with Problem.A; got .* with A, B"),
    "words": ({"name": "relat4"}, "one matrix, or with Problem.A; got .* with none"),
    "cube": ({"A": np.ones((2, 2, 2))}, "with none"),
    "complex": ({"A": 1j * np.eye(2)}, "Its numbers are complex"),
    "infinite": ({"A": np.diag([1, np.inf])}, "1 are not"),
    "empty": ({"A": np.ones((0, 2))}, "rows and columns"),
    "no_A": ({"Problem": {"b": np.ones(3)}}, "could not be read"),
}


@pytest.mark.parametrize("case", MATLAB)
def test_a_matlab_file_without_the_one_matrix_is_told_in_one_sentence(case, tmp_path):
    content, sentence = MATLAB[case]
    scipy.io.savemat(tmp_path / "m.mat", content)
    with pytest.raises(InputError, match=f"^`path` must be .*{sentence}"):
        read_matrix(tmp_path / "m.mat")


def test_a_truncated_matlab_file_is_told(tmp_path):
    scipy.io.savemat(tmp_path / "m.mat", {"A": np.random.default_rng(0).normal(size=(50, 50))})
    whole = (tmp_path / "m.mat").read_bytes()
    for length in (60, 130, 200, len(whole) // 2, len(whole) - 8):
        (tmp_path / "m.mat").write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"^`path` must be a"):
            read_matrix(tmp_path / "m.mat")
