"""Recorded against simulated values."""

import numpy as np
import pytest
import scipy.stats

from uidd.report.comparison import compare, ks_distance


def test_the_distance_is_scipys():
    generator = np.random.default_rng(0)
    a, b = generator.normal(0, 1, 200), generator.normal(0.3, 1, 150)
    assert ks_distance(a, b) == pytest.approx(scipy.stats.ks_2samp(a, b).statistic, abs=1e-12)


def test_bands_hold_the_quantiles_of_all_paths(runs):
    _, analysis = runs[2]
    compared = compare(analysis, 1)
    paths = np.stack([s[:, 1] for s in analysis.recorded.states])
    np.testing.assert_allclose(compared.recorded.high, np.quantile(paths, 0.95, axis=0))
    np.testing.assert_allclose(compared.recorded.mean, paths.mean(axis=0))
    assert not compared.interpolated and len(compared.recorded.paths) == 4
