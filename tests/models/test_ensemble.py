"""Ensembles in files."""

import jax
import numpy as np
import pytest

from uidd import InputError
from uidd.data import Scaling
from uidd.models import Architecture, Ensemble, Model


def test_a_file_of_another_version_is_refused_in_one_sentence(tmp_path):
    """Such files held which coefficients have a prior where the constants are now."""
    spec = Architecture().plain
    model = Model(spec.build(2, key=jax.random.key(0)), spec, Scaling.identity(2))
    size = Ensemble.none(model).deviations.shape[1]
    rows, none = np.zeros((4, size)), np.zeros((0, 2))
    Ensemble(model, rows, np.zeros(size), rows, none).save(tmp_path / "old.uidd")
    with pytest.raises(InputError, match=r"old\.uidd.*older uidd: fit the data again"):
        Ensemble.load(tmp_path / "old.uidd")
    Ensemble(model, rows, rows, rows, none, correction=(0.3, 0.1), noise_error=0.05).save(
        tmp_path / "new.uidd"
    )
    again = Ensemble.load(tmp_path / "new.uidd")
    assert len(again) == 8 and again.correction == (0.3, 0.1) and again.noise_error == 0.05
