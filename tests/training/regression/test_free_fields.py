"""Drift and noise by regression: exact for polynomials, of the degree that data call for, and positive."""

import numpy as np
import pytest

from uidd.components import HermiteProducts
from uidd.data import Transitions
from uidd.training.regression import free_fields as module
from uidd.training.regression.free_fields import (
    CHUNK,
    LEAST,
    Features,
    FreeFields,
    Regression,
    _positive_root,
    free_fields,
    gram_matrix,
)

DT, SEED = 0.05, 0


def parts_of(drift, root, *, count, dimension, seed, parts=4):
    """Euler steps from unit Gaussian states."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(parts):
        z, xi = generator.standard_normal((2, count, dimension))
        noise = np.einsum("nij,nj->ni", root(z), xi)
        found.append(Transitions(z, drift(z) * DT + noise * DT**0.5, np.full(count, DT)))
    return found


def constant(root):
    return lambda z: np.broadcast_to(root, (len(z), *root.shape))


def test_least_squares_give_back_a_polynomial_from_more_than_one_chunk(x64):
    """To the ridge of 1e-9 of the mean diagonal of the Gram matrix."""
    generator = np.random.default_rng(SEED)
    basis, z = HermiteProducts(2, 3), generator.standard_normal((CHUNK + 100, 2))
    p = Regression(Features(basis, None), generator.standard_normal((len(basis), 3)))
    found = Regression.of(z, p(z), 3)
    assert found.degree == 3 and p(z).shape == (CHUNK + 100, 3)
    np.testing.assert_allclose(found.coefficients, p.coefficients, atol=1e-6)


def test_a_linear_drift_with_constant_noise_is_found_as_such():
    A = np.array([[-1.0, 0.5], [-0.5, -2.0]])
    parts = parts_of(
        lambda z: z @ A.T, constant(np.array([[1.0, 0.0], [0.4, 0.8]])), count=5000, dimension=2, seed=SEED
    )
    fields = free_fields(parts)
    assert {(f.drift.degree, f.variance.degree) for f in fields} == {(1, 0)}
    # Var A_ij = (2 M)_ii / (n dt) for unit Gaussian states; h_1 are the coordinates, in their order.
    errors = np.sqrt(np.array([1.0, 0.8])[None] / (5000 * DT))
    for field in fields:
        assert (np.abs(field.drift.coefficients[1:] - A.T) < 5 * errors).all()


def test_the_force_of_a_double_well_is_found_as_a_cubic():
    """Its quadratic part is zero by symmetry: degree 2 brings nothing, and the search goes on."""
    parts = parts_of(lambda z: z - z**3, constant(np.ones((1, 1))), count=5000, dimension=1, seed=SEED)
    fields = free_fields(parts)
    assert {(f.drift.degree, f.variance.degree) for f in fields} == {(3, 0)}
    z = np.linspace(-2, 2, 9)[:, None]
    p = fields[0].drift
    X = np.asarray([p.features(each) for each in z])
    # Var c = 1 / (n dt) for orthonormal products.
    errors = np.sqrt(np.sum(X**2, axis=1) / (5000 * DT))[:, None]
    assert (np.abs(p(z) - (z - z**3)) < 5 * errors).all()


def test_noise_that_is_quadratic_in_the_state_is_found():
    """2 M = C + B z z^T B^T, as that of batches of a quadratic loss."""
    B, C = np.array([[0.5, 0.2], [0.0, 0.4]]), np.array([[0.5, 0.1], [0.1, 0.3]])

    def covariance(z):
        v = z @ B.T
        return C + v[:, :, None] * v[:, None, :]

    parts = parts_of(
        lambda z: -z, lambda z: np.linalg.cholesky(covariance(z)), count=20_000, dimension=2, seed=SEED
    )
    fields = free_fields(parts)
    assert {f.variance.degree for f in fields} == {2}
    z = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 1.0]])
    found = np.stack([f.root(z) @ f.root(z).transpose(0, 2, 1) for f in fields])
    error = found.std(axis=0, ddof=1) / 2
    # The spread of four parts knows itself to 40 %: no error is believed below half of the mean one.
    assert (np.abs(found.mean(axis=0) - covariance(z)) < 5 * np.maximum(error, error.mean() / 2)).all()


@pytest.mark.parametrize(
    "P", [[[2.0, -0.5], [-0.5, 1.0]], [[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, -1.0]]]
)
def test_the_root_is_triangular_and_stays_positive(P, fresh_seed):
    """What is positive is kept; an eigenvalue below a twentieth of the mean one is lifted to that."""
    P = np.array(P)
    drift = Regression(Features(HermiteProducts(2, 0), None), np.zeros((1, 2)))
    field = FreeFields(drift, Regression(Features(HermiteProducts(2, 0), None), P[np.tril_indices(2)][None]))
    root = field.root(np.random.default_rng(fresh_seed).standard_normal((3, 2)))
    assert not np.triu(root, 1).any() and (np.diagonal(root, axis1=1, axis2=2) > 0).all()
    values, vectors = np.linalg.eigh(P)
    least = LEAST * max(values.mean(), 1e-12)
    expected = (vectors * np.maximum(values, least)) @ vectors.T
    for each in root:
        np.testing.assert_allclose(each @ each.T, expected, atol=1e-6)


def test_one_matrix_that_must_be_lifted_does_not_change_the_others():
    good, bad = np.diag([2.0, 1.0]), np.diag([1.0, -1.0])
    alone, together = _positive_root(good[None]), _positive_root(np.stack([good, bad]))
    np.testing.assert_allclose(together[0], alone[0], rtol=1e-12)
    np.testing.assert_allclose(together[1] @ together[1].T, np.diag([1.0, 1e-12 * LEAST]), atol=1e-13)


def test_drift_and_noise_share_the_gram_matrices(monkeypatch):
    """Each is made once a part and set of features."""
    made = []

    def counted(features, data):
        made.append((features.products.degree, len(features)))
        return gram_matrix(features, data)

    monkeypatch.setattr(module, "gram_matrix", counted)
    parts = parts_of(lambda z: -z, constant(np.eye(2)), count=2000, dimension=2, seed=SEED)
    free_fields(parts)
    assert {made.count(each) for each in made} == {len(parts)}
