"""The log-posterior as a quadratic: its maximum, its evidence, and what falls outside the data."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

from stand_ins import Groups
from uidd.training.solvers.group_evidence import GroupEvidence
from uidd.training.solvers.local_posterior import Factored, LocalPosterior, laplace_volume


def test_a_factored_matrix_solves_across_many_decades():
    generator = np.random.default_rng(0)
    root = generator.standard_normal((60, 20)) * 10.0 ** np.linspace(-6, 6, 20)
    matrix, x = root.T @ root, generator.standard_normal(20)
    size = np.sqrt(np.diag(matrix))
    found = Factored.of(matrix).solve(size * x)
    np.testing.assert_allclose(matrix @ found / size, x, rtol=1e-8, atol=1e-10)


def test_the_quadratic_model_finds_the_ridge_solution_and_switches_off_what_is_noise():
    """A linear regression with known design: coefficients of a group without signal get a large precision."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((4000, 40))
    truth = np.concatenate([generator.standard_normal(20), np.zeros(20)])
    y = X @ truth + generator.standard_normal(4000)
    groups = Groups(np.repeat([0, 1], 20))

    outside = np.zeros((0,)), np.zeros((0, 40)), np.ones(40, bool)
    quadratic = LocalPosterior(np.zeros(40), X.T @ y, X.T @ X, *outside)
    x, precision = quadratic.solved(groups, np.ones(2))
    assert 0.3 < precision[0] < 3 and precision[1] > 300
    ridge = np.linalg.solve(X.T @ X + np.diag(precision[groups.group]), X.T @ y)
    np.testing.assert_allclose(x, ridge, rtol=0.05, atol=1e-3)
    unpenalised = np.linalg.solve(X.T @ X, X.T @ y)
    assert np.linalg.norm(x[20:]) < 0.7 * np.linalg.norm(unpenalised[20:])
    # What was switched off comes back when the data call for it, and the other way round.
    again, turned = quadratic.solved(groups, np.array([1e8, 1.0]))
    np.testing.assert_allclose(again, x, rtol=0.05, atol=1e-3)
    np.testing.assert_allclose(turned[0], precision[0], rtol=0.05)


def test_effective_coefficients_are_those_that_the_data_set():
    """F / (F + L) of every coefficient where F is diagonal: one half, ten elevenths, none switched off."""
    groups = Groups(np.repeat([0, 1, 2, -1], 4))

    F = np.diag(np.repeat([1.0, 10.0, 5.0, 2.0], 4))
    quadratic = LocalPosterior(
        np.zeros(16), np.zeros(16), F, np.zeros(0), np.zeros((0, 16)), np.ones(16, bool)
    )
    found = quadratic.effective(groups, np.array([1.0, 1.0, 1e8]))
    assert found == pytest.approx(4 * (1 / 2 + 10 / 11))


def test_what_a_group_could_be_worth_if_it_is_anything():
    """Of n numbers, each as large as its noise. In the size t = l^(-1/2) the evidence is -n t^4 / 4 where n
    is large, and the worth n t^2 / 2. With B = int e^evidence dt = Gamma(5/4) (4 / n)^(1/4) there is
    something with probability B / (1 + B), and then <t^4> = 1 / n."""
    n = 10_000
    B = math.gamma(1.25) * (4 / n) ** 0.25
    evidence = GroupEvidence(np.ones(n), np.ones(n))
    assert evidence.hidden(1.0, 1e10) == pytest.approx((B / (1 + B)) ** 0.5 * n**0.5 / 2, rel=0.05)
    # Numbers that are larger than their noise, without doubt, are what they are.
    seen = GroupEvidence(np.ones(n), np.full(n, 1.3))
    assert seen.hidden(1.0, 1e10) == pytest.approx(n * (1.69 - 1) / 2, rel=0.05)


@pytest.mark.parametrize(("owner", "strength", "kept"), [(0, 0.18, True), (2, 0.18, False), (2, 1.0, True)])
def test_a_group_of_W_has_to_gain_more_than_one_of_V(owner, strength, kept):
    """Evidence by a closed form: ten coefficients, each seen with variance one, of the size `strength`."""
    n, seen = 10, 100.0
    groups = Groups(np.zeros(n, int), (owner,))

    F, x = seen * np.eye(n), np.full(n, strength)
    quadratic = LocalPosterior(np.zeros(n), F @ x, F, np.zeros(0), np.zeros((0, n)), np.ones(n, bool))
    _, precision = quadratic.solved(groups, np.ones(1))
    # At precision L: n/2 (x^2 F^2 / (F + L) - log(1 + F / L)) nats above the group switched off.
    best = max(
        n / 2 * (strength**2 * seen**2 / (seen + L) - np.log1p(seen / L))
        for L in np.geomspace(1e-3, 1e8, 2000)
    )
    assert (best > (9 if owner else 0)) == kept
    assert (precision[0] < 1e6) == kept


def test_the_evidence_of_a_group_is_the_density_of_the_data_under_its_prior():
    """y = X b + noise, b Gaussian with a given precision in each of three groups: y is Gaussian, too."""
    generator = np.random.default_rng(2)
    X, y = generator.standard_normal((50, 12)), generator.standard_normal(50) * 2
    groups = Groups(np.repeat([-1, 0, 1, 2], 3))

    center = generator.standard_normal(12)
    none = np.zeros(0), np.zeros((0, 12)), np.ones(12, bool)
    quadratic = LocalPosterior(center, X.T @ (y - X @ center), X.T @ X, *none)

    def exact(precision):
        wide = np.where(groups.group < 0, 1e-9 * np.diag(X.T @ X), np.append(precision, 0)[groups.group])
        covariance = np.eye(50) + (X / wide) @ X.T
        return -(np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)) / 2

    # Whether another group is switched off or not, and whatever the group's own precision is at present.
    for off, present in itertools.product((1e8, 0.3), (1e-2, 1.0, 1e5, 1e8)):
        evidence = quadratic.of_group(groups, np.array([2.0, present, off]), 1)
        for own in (0.1, 1.0, 30.0):
            gain = exact(np.array([2.0, own, off])) - exact(np.array([2.0, 1e12, off]))
            assert float(evidence(own)) == pytest.approx(gain, abs=2e-3)

    def by_laplace(precision):
        x, _ = quadratic.maximum(groups, precision)
        return -np.sum((y - X @ x) ** 2) / 2 + laplace_volume(groups, x, precision, X.T @ X)

    # Exact for Gaussian densities, up to what all precisions have in common.
    some = [np.array(each) for each in ([2.0, 1.0, 0.3], [2.0, 30.0, 1e8], [1e8, 0.1, 1e8])]
    first, *others = (by_laplace(each) - exact(each) for each in some)
    np.testing.assert_allclose(others, first, atol=2e-3)


def test_a_damped_step_goes_from_the_maximum_to_none():
    generator = np.random.default_rng(2)
    X = generator.standard_normal((200, 10))
    groups = Groups(np.zeros(10, int))

    center, precision = generator.standard_normal(10), np.ones(1)
    outside = np.zeros(0), np.zeros((0, 10)), np.ones(10, bool)
    quadratic = LocalPosterior(center, generator.standard_normal(10), X.T @ X, *outside)
    best, _ = quadratic.maximum(groups, precision)
    np.testing.assert_allclose(quadratic.damped(groups, precision, 1e-12), best, rtol=1e-6)
    np.testing.assert_allclose(quadratic.damped(groups, precision, 1e9), center, atol=1e-6)


def test_what_is_held_stays_and_the_rest_goes_to_its_own_maximum():
    """Against the same problem without the held coefficients."""
    generator = np.random.default_rng(3)
    X, center = generator.standard_normal((200, 6)), generator.standard_normal(6)
    free = np.array([True, True, False, True, False, True])
    groups = Groups(np.zeros(6, int))

    score, F = generator.standard_normal(6), X.T @ X
    x, _ = LocalPosterior(center, score, F, np.zeros(0), np.zeros((0, 6)), free).maximum(groups, np.ones(1))
    np.testing.assert_array_equal(x[~free], center[~free])
    move = np.linalg.solve(F[np.ix_(free, free)] + np.eye(4), (score - center)[free])
    np.testing.assert_allclose(x[free], center[free] + move, rtol=1e-9)


def test_the_barrier_outside_the_data_is_solved_exactly():
    """A hundred places, most of which fall at the unconstrained maximum; against a general optimiser."""
    generator = np.random.default_rng(4)
    X, A = generator.standard_normal((40, 8)), generator.standard_normal((100, 8))
    groups = Groups(np.zeros(8, int))

    center, score = generator.standard_normal(8), 1e3 * generator.standard_normal(8)
    rises = generator.uniform(0, 3, 100)
    quadratic = LocalPosterior(center, score, X.T @ X / 1e3, rises, A, np.ones(8, bool))
    x, _ = quadratic.maximum(groups, np.ones(1))
    one = np.ones(8)

    def downhill(y):
        pull = np.minimum(quadratic.rises_at(y), 0.0)
        return -(score - quadratic.information @ (y - center) - A.T @ pull - y)

    found = scipy.optimize.minimize(
        lambda y: -quadratic.height(y, one), center, jac=downhill, method="BFGS", options={"gtol": 1e-7}
    )
    assert quadratic.height(x, one) >= -found.fun - 1e-6
    np.testing.assert_allclose(x, found.x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(downhill(x), 0.0, atol=1e-6)
    assert 0 < (quadratic.rises_at(x) < 0).sum() < 100
