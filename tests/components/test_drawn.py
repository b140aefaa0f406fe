"""Components of drawn units: derivatives, exact starts, an integrable e^-V, and what is left without them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from uidd.components import (
    Absent,
    AbstractPotential,
    Constant,
    Drawn,
    FieldCirculation,
    Full,
    Network,
    NoCirculation,
    PlaneCirculation,
    Polynomial,
    Quadratic,
    ScaledDiffusion,
    SumOfSquares,
    Triangular,
    TriangularDiffusion,
    Tridiagonal,
    Uniform,
    Varying,
)
from uidd.dynamics import matrix_divergence

ROUNDING = 1e-11
DIMENSIONS = [1, 2, 3, 5, 7]
QUADRATIC, VARYING, DRAWN = Quadratic(12), Varying(8), Drawn(8)


def states(dimension, seed, count=4):
    return np.random.default_rng(seed).standard_normal((count, dimension))


def close(value, truth):
    np.testing.assert_allclose(value, truth, rtol=ROUNDING, atol=ROUNDING)


@pytest.fixture
def filled(fresh_seed, with_random_weights):
    return lambda spec, dimension: with_random_weights(lambda key: spec.build(dimension, key=key), fresh_seed)


@pytest.mark.parametrize("spec", [QUADRATIC, QUADRATIC.plain], ids=["bent", "plain"])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_gradient_of_V_is_its_derivative_and_so_is_the_hessian_at_the_origin(
    spec, dimension, x64, fresh_seed, filled, quickly
):
    """Some states lie beyond the reach of the polynomial, where its coordinates level off."""
    potential = filled(spec, dimension)
    z = np.concatenate(
        [states(dimension, fresh_seed), np.zeros((1, dimension)), [np.linspace(6, 9, dimension)]]
    )

    def both(z):
        of_gradient = potential.gradient(z), jax.jacfwd(potential.gradient)(z)
        return of_gradient, (jax.grad(potential)(z), jax.hessian(potential)(z))

    for value, truth in zip(*quickly(jax.vmap(both))(z), strict=True):
        close(value, truth)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("stiffness", [1.0, 1e-2])
def test_V_grows_without_bound_along_every_ray_whatever_the_weights(dimension, stiffness, x64, fresh_seed):
    """Polynomial, network and bumps are bounded, so V - z^T S z / 2 >= -|c| |z| - const."""
    generator = np.random.default_rng(fresh_seed)
    start = QUADRATIC.build(dimension, key=jax.random.key(0)).starting_at(
        stiffness * jnp.eye(dimension), jnp.zeros(dimension), key=jax.random.key(0)
    )

    def weights(p):
        return p.nonlinear.polynomial, p.nonlinear.network.readout, p.nonlinear.bumps.heights

    parts, structure = jax.tree.flatten(weights(start))
    bend = jax.tree.unflatten(structure, [10 * generator.standard_normal(part.shape) for part in parts])
    potential = eqx.tree_at(weights, start, bend)
    u = states(dimension, fresh_seed, 30)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    # No coordinate of the polynomial exceeds 7.5, and no |h_n| exceeds that of 7.5.
    x = 7.5
    largest = [1, x, max((x**2 - 1) / 2**0.5, 1), (x**3 + 3 * x) / 6**0.5, (x**4 + 6 * x**2 + 3) / 24**0.5]
    sizes = [float(jnp.abs(part).sum()) for part in jax.tree.leaves(bend[0])]
    least = sum(size * max(largest) for size in sizes)
    least += sum(np.abs(part).sum() for part in (*bend[1], bend[2]))
    for t in (1.0, 1e2, 1e4, 1e6):
        V = np.asarray(jax.vmap(potential)(jnp.asarray(t * u)))
        assert (stiffness * t**2 / 2 - least <= V).all()
    assert V.min() > stiffness * 1e12 / 4


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_polynomial_spans_every_polynomial_of_fourth_degree(dimension, x64, fresh_seed):
    """Least squares with its gradient in the coefficients: the rest vanishes, for a random target."""
    generator = np.random.default_rng(fresh_seed)
    z, zero = generator.uniform(-6, 6, (600, dimension)), Polynomial.zero(dimension)
    features = jax.vmap(lambda z: ravel_pytree(jax.grad(lambda p: p(z))(zero))[0])(jnp.asarray(z))
    a, b = generator.standard_normal((2, dimension))
    degree = 4 if dimension < 6 else 2
    target = sum((z @ a + 0.3) ** n * (1 + z @ b) ** (degree - n) for n in range(degree + 1))
    design = np.concatenate([np.asarray(features), np.ones((600, 1))], axis=1)
    if dimension >= 6:
        target = target + z**4 @ a - z**3 @ b
    left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(left, 0, atol=1e-9 * np.abs(target).max())


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_div_M_and_div_W_of_drawn_units_equal_those_by_the_full_jacobian(
    dimension, x64, fresh_seed, filled, quickly
):
    diffusion, circulation = filled(VARYING, dimension), filled(DRAWN, dimension)

    def both(z):
        M = matrix_divergence(lambda z: diffusion(z) @ diffusion(z).T / 2, z)
        plain = diffusion(z), M, circulation(z), matrix_divergence(circulation, z)
        return (*diffusion.with_divergence(z), *circulation.with_divergence(z)), plain

    for value, truth in zip(*quickly(jax.vmap(both))(states(dimension, fresh_seed)), strict=True):
        close(value, truth)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_sigma_is_triangular_with_positive_diagonal_and_W_is_antisymmetric_to_the_last_bit(
    dimension, fresh_seed, filled, quickly
):
    z = 3 * states(dimension, fresh_seed, 20).astype(np.float32)
    sigma = np.asarray(quickly(jax.vmap(filled(VARYING, dimension)))(z))
    assert (sigma[:, *np.triu_indices(dimension, 1)] == 0).all()
    assert (np.diagonal(sigma, axis1=1, axis2=2) > 0).all()
    for spec in (DRAWN, Uniform("full"), Uniform("tridiagonal")):
        W = np.asarray(quickly(jax.vmap(filled(spec, dimension)))(z))
        np.testing.assert_array_equal(W, -np.swapaxes(W, 1, 2))
        assert dimension == 1 or np.abs(W).max() > 0


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("plain", [False, True])
def test_drawn_components_start_at_any_linear_system(dimension, plain, x64, fresh_seed, filled, quickly):
    """V up to a constant, sigma and W, with divergences of zero."""
    specs = [spec.plain if plain else spec for spec in (QUADRATIC, VARYING, DRAWN)]
    V, sigma, W = (filled(spec, dimension) for spec in specs)
    root, mean = states(dimension, fresh_seed, dimension), states(dimension, fresh_seed + 1, 1)[0]
    S = root @ root.T + 0.5 * np.eye(dimension)
    L, circulation = np.linalg.cholesky(S + np.eye(dimension)), root - root.T
    z = states(dimension, fresh_seed)

    def started(S, mean, L, circulation):
        start = V.starting_at(S, mean, key=jax.random.key(0))
        pieces = start, start.gradient, sigma.starting_at(L).with_divergence
        return [jax.vmap(piece)(z) for piece in (*pieces, W.starting_at(circulation).with_divergence)]

    potential, gradient, (sigma_at, div_M), (W_at, div_W) = quickly(started)(S, mean, L, circulation)
    truth = np.einsum("ni,ij,nj->n", z - mean, S, z - mean) / 2
    close(potential - potential[0], truth - truth[0])
    close(gradient, (z - mean) @ S)
    close(sigma_at, np.broadcast_to(L, sigma_at.shape))
    close(W_at, np.broadcast_to(circulation, W_at.shape))
    assert not np.any(div_M) and not np.any(div_W)


@pytest.mark.parametrize(
    ("spec", "dimension", "kind"),
    [
        (VARYING, 3, TriangularDiffusion), (VARYING, 4, ScaledDiffusion), (DRAWN, 5, FieldCirculation),
        (DRAWN, 6, PlaneCirculation), (DRAWN, 1, NoCirculation), (Uniform(), 1, NoCirculation),
    ],
)  # fmt: skip
def test_the_dimension_decides_the_form(spec, dimension, kind):
    assert type(spec.build(dimension, key=jax.random.key(0))) is kind


@pytest.mark.parametrize(
    ("spec", "plain"),
    [
        (Quadratic(least=0.2), Quadratic(0, (), 0.2)), (SumOfSquares(b3=0.1), Quadratic(0, (), 0.2)),
        (Varying(), Constant("full")), (Triangular(), Constant("full")),
        (Constant("diagonal"), Constant("diagonal")), (Drawn(), Uniform("full")), (Full(), Uniform("full")),
        (Tridiagonal(), Uniform("tridiagonal")), (Uniform("tridiagonal"), Uniform("tridiagonal")),
        (Absent(), Absent()),
    ],
    ids=str,
)  # fmt: skip
def test_every_specification_knows_what_it_is_without_networks(spec, plain):
    """A plain potential can be no softer than the one it stands for."""
    assert spec.plain == plain and plain.plain == plain
    built, full = (s.build(3, key=jax.random.key(0)) for s in (plain, spec))
    assert not [n for n in jax.tree.leaves(built, is_leaf=lambda n: isinstance(n, Network)) if n.ndim > 2]
    if isinstance(full, AbstractPotential):
        assert built.minimal_stiffness == full.minimal_stiffness


@pytest.mark.parametrize(("width", "scales"), [(12, (0.3, 1.0, 3.0)), (10, (0.3, 1.0, 3.0)), (1, (2.0,))])
@pytest.mark.parametrize("dimension", [1, 3, 7])
def test_drawn_units_are_steps_of_their_scale_near_the_data_and_no_two_are_alike(
    dimension, width, scales, x64
):
    network = Network.drawn(dimension, 2, width, scales)
    (A, a), (R, r) = *network.hidden, network.readout
    assert A.shape == (dimension, width) and not R.any() and not r.any()
    of_unit = network.scale_of_unit
    assert (np.diff(of_unit) >= 0).all() and set(of_unit) == set(range(len(scales)))
    assert np.ptp(np.bincount(of_unit)) <= 1
    # |a| / |A| is the distance of the step from the origin: inside the box of side 10.
    size = np.linalg.norm(A, axis=0)
    assert (np.abs(a) <= 5 * dimension**0.5 * size * (1 + ROUNDING)).all()
    # No component is beyond the normal quantile of .999.
    assert (size <= 3.1 * np.asarray(scales)[of_unit]).all()
    for k in range(len(scales)):
        alike = np.round(np.concatenate([A, a[None]])[:, of_unit == k], 9)
        assert len(np.unique(alike, axis=1).T) == (of_unit == k).sum()


def test_drawn_units_have_the_size_of_their_scale():
    """|A|^2 is scale^2 on average: 1000 Sobol points are nearer than 5 standard errors of random ones."""
    network = Network.drawn(3, 1, 2000, (0.3, 3.0))
    squares = np.sum(np.asarray(network.hidden[0][0]) ** 2, axis=0).reshape(2, -1)
    expected = np.array([0.3, 3.0]) ** 2
    assert (np.abs(squares.mean(axis=1) / expected - 1) < 5 * (2 / 3 / 1000) ** 0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 5, 9])
def test_terms_that_are_no_products_vary_with_one_coordinate_alone(dimension):
    """Along the others p is constant: the mixed second derivatives vanish for them, and for them only."""
    zero, z = Polynomial.zero(dimension), jnp.linspace(0.3, 1.1, dimension)
    for place, mixed in zip(("cubic", "quartic"), zero.mixed, strict=True):
        for k, expected in enumerate(mixed):
            unit = jnp.zeros(len(mixed)).at[k].set(1.0)
            term = eqx.tree_at(lambda p, place=place: getattr(p, place), zero, unit)
            H = np.asarray(jax.hessian(term)(z))
            assert bool(np.abs(H - np.diag(np.diag(H))).max() > 1e-6) == bool(expected)
