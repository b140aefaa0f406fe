"""Chains of ArviZ and xarray are the arrays that they hold."""

import warnings

import numpy as np
import pytest
import xarray

from uidd import InputError
from uidd.diagnosis import Chains, load_chains

CHAINS = np.random.default_rng(0).standard_normal((3, 50, 5))


@pytest.fixture
def inference_data():
    """The chains as ArviZ holds them.

    ArviZ writes a file when it is first imported on a day, in a way that two processes must not do at once.
    Every worker imports every test file, but only one of them runs this.
    """
    with warnings.catch_warnings():  # it announces its next version
        warnings.simplefilter("ignore")
        import arviz
    return arviz.from_dict(posterior={"mu": CHAINS[..., 0], "beta": CHAINS[..., 1:].reshape(3, 50, 2, 2)})


def test_inference_data_equals_arrays(inference_data):
    found = Chains.of(inference_data)
    np.testing.assert_array_equal(found.states, CHAINS)
    assert found.coordinates == ("mu", "beta[0, 0]", "beta[0, 1]", "beta[1, 0]", "beta[1, 1]")


def test_a_dataset_and_a_tree_equal_arrays(inference_data):
    dataset = inference_data.posterior
    tree = xarray.DataTree.from_dict({"posterior": dataset})
    for value in (dataset, tree, {"posterior": dataset}, dataset.transpose("draw", ..., "chain")):
        np.testing.assert_array_equal(Chains.of(value).states, CHAINS)


def test_a_dataset_without_chains_is_refused():
    with pytest.raises(InputError, match="dimensions chain and draw"):
        Chains.of(xarray.Dataset({"x": ("time", np.arange(3.0))}))


def test_files_give_what_was_saved(tmp_path, inference_data):
    np.save(tmp_path / "a.npy", CHAINS)
    np.savez(tmp_path / "one.npz", chains=CHAINS)
    np.savez(tmp_path / "sizes.npz", full=CHAINS, b64=CHAINS, **{"8": CHAINS})
    inference_data.to_netcdf(str(tmp_path / "a.nc"))
    for name in ("a.npy", "one.npz", "a.nc"):
        np.testing.assert_array_equal(load_chains(tmp_path / name)["given"].states, CHAINS)
    assert list(load_chains(tmp_path / "sizes.npz")) == [8, 64, "full"]


def test_netcdf_without_arviz_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.nc").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "arviz", None)
    with pytest.raises(InputError, match=r"pip install 'uidd\[arviz\]'"):
        load_chains(tmp_path / "a.nc")


def test_an_unknown_ending_and_a_damaged_file_are_one_sentence(tmp_path):
    for name, words in (
        ("a.txt", "endings .npz .npy .nc"),
        ("a.npz", "NumPy archive"),
        ("a.nc", "ArviZ file"),
    ):
        (tmp_path / name).write_text("no chains")
        with pytest.raises(InputError, match=words):
            load_chains(tmp_path / name)
