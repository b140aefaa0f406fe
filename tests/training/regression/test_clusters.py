"""A mixture of Gaussians is found again; Gaussian states need one; cells are as fine as a well is narrow."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from uidd.training.regression.clusters import cell_centers, gaussians_of, nearest

COUNT = 20_000


def wells(dimension, seed):
    """Three wells, six widths of the widest apart, of shapes of their own; which one each state is in."""
    generator = np.random.default_rng(seed)
    centers = 6 * np.eye(3, dimension) if dimension > 2 else 6 * np.arange(3)[:, None] * np.eye(1, dimension)
    roots = np.tril(generator.uniform(-0.5, 0.5, (3, dimension, dimension)), -1)
    roots += generator.uniform(0.3, 0.8, (3, dimension, 1)) * np.eye(dimension)
    which = generator.choice(3, COUNT, p=(0.5, 0.3, 0.2))
    noise = generator.standard_normal((COUNT, dimension))
    return centers, roots, which, centers[which] + np.einsum("nij,nj->ni", roots[which], noise)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_three_wells_are_found_with_their_shapes(dimension, fresh_seed):
    """The mean of log p - log q over the states is minus half a nat for each number fitted, over n, and the
    scatter of that is of the same size; a well that is not found costs a hundred times as much."""
    centers, roots, _, states = wells(dimension, fresh_seed)
    found = gaussians_of(states, 8)
    exact = np.array([0.5, 0.3, 0.2]), centers, roots @ roots.transpose(0, 2, 1)
    lost = np.mean(log_density(states, *exact) - log_density(states, *found))
    numbers = len(found[0]) * (1 + dimension + dimension * (dimension + 1) / 2)
    assert 3 <= len(found[0]) <= 4
    assert abs(lost + numbers / COUNT / 2) < 5 * numbers / COUNT / 2


def log_density(states, weights, means, covariances):
    each = [
        scipy.stats.multivariate_normal(c, C).logpdf(states) for c, C in zip(means, covariances, strict=True)
    ]
    return scipy.special.logsumexp(np.log(weights)[:, None] + each, axis=0)


@pytest.mark.parametrize("dimension", [1, 4])
def test_gaussian_states_are_one_gaussian(dimension, fresh_seed):
    states = np.random.default_rng(fresh_seed).standard_normal((COUNT, dimension))
    weights, means, _ = gaussians_of(states, 8)
    assert len(weights) == 1
    assert np.abs(means).max() < 5 / COUNT**0.5


def test_few_states_of_many_dimensions_are_one_gaussian():
    states = np.random.default_rng(0).standard_normal((100, 20))
    weights, _, covariances = gaussians_of(states, 8)
    assert len(weights) == 1 and np.linalg.eigvalsh(covariances[0]).min() > 0


def test_every_well_has_cells_of_its_own(fresh_seed):
    centers, _, which, states = wells(3, fresh_seed)
    cells = cell_centers(states, 12)
    assert set(nearest(cells, centers)) == {0, 1, 2}
    # A cell holds states of one well.
    own = nearest(centers[which] + 0 * states, centers)
    assert np.mean(nearest(cells, centers)[nearest(states, cells)] == own) > 0.99
