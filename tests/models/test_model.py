"""A model maps what its networks give in unit-size coordinates to the user's units, exactly."""

import itertools
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd import InputError
from uidd.components import (
    Absent,
    Constant,
    Drawn,
    Full,
    Quadratic,
    SumOfSquares,
    Triangular,
    Uniform,
    Varying,
)
from uidd.data import Scaling
from uidd.dynamics import matrix_divergence
from uidd.models import ARCHITECTURES, Architecture, Model
from uidd.thermodynamics import local_entropy_production

SMALL = Architecture(SumOfSquares(components=4, widths=(8,)), Triangular((8,)), Full((8,)))
SCALING = Scaling(center=(3.0, -40.0, 0.5), scale=(0.2, 7.0, 1.5), time=25.0)
ROUNDING = 1e-11


@pytest.fixture
def model(random_dynamics, fresh_seed):
    return Model(random_dynamics(SMALL, 3, fresh_seed), SMALL, SCALING)


@pytest.fixture
def z(fresh_seed):
    x = np.random.default_rng(fresh_seed).standard_normal((5, 3))
    return SCALING.to_user(x)


def weights_of(inputs, widths, outputs):
    return sum((a + 1) * b for a, b in itertools.pairwise([inputs, *widths, outputs]))


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - {"default"}))
def test_every_architecture_of_the_paper_builds_and_its_only_leaves_are_weights(
    name, dimension, random_dynamics
):
    """Weights of a layer: (inputs + 1) outputs. Nothing but them may be a leaf."""
    spec, D = Architecture.named(name), dimension
    model = Model(random_dynamics(spec, D, 0), spec, Scaling.identity(D), anchors=((1.0,) * D,))
    leaves = jax.tree.leaves(model)
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
    below, pairs = D * (D - 1) // 2, len(getattr(model.unit.circulation_component, "pairs", ()))
    count = weights_of(D, spec.potential.widths, 32) + 32 * D
    if isinstance(spec.diffusion, Triangular):
        count += weights_of(D, spec.diffusion.widths, D)
        count += weights_of(D, spec.diffusion.widths, below) if below else 0
    else:
        count += D + (below if spec.diffusion.shape == "full" else 0)
    count += weights_of(D, spec.circulation.widths, pairs) if pairs else 0
    assert sum(leaf.size for leaf in leaves) == count
    assert pairs == (below if isinstance(spec.circulation, Full) else D - 1)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 7])
def test_the_only_leaves_of_the_default_are_weights(dimension, random_dynamics):
    """V: S, c, a polynomial, 64 units, 192 bumps, 8 wells; sigma: 48 units; W: 64, and planes; or a
    current's, and the V that they refer to with its level."""
    spec, D = Architecture(), dimension
    model = Model(random_dynamics(spec, D, 0), spec, Scaling.identity(D))
    leaves, below = jax.tree.leaves(model), D * (D - 1) // 2
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
    count = D * D + D + weights_of(D, (64,), 1)
    # Centers and heights, and the planes that they lie in: eight, or two copies of the only one.
    count += 192 * 3 + 2 * D * (8 if D > 2 else 2)
    # Shapes, centers, weights and offsets of the wells, and their share.
    count += 8 * (D * D + D + 2) + 1
    # All terms of degree 1 to 4; above eight dimensions those of single coordinates only, in a frame.
    count += comb(D + 4, 4) - 1 if D <= 8 else D + below + 3 * D
    if 1 < D <= 4:
        count += count + weights_of(D, (64,), below) + 1
    count += weights_of(D, (48,), D)
    if D > 3:
        count += below + D
    elif D > 1:
        count += weights_of(D, (48,), below)
    if D > 5:
        count += below + weights_of(D, (64,), D) + 2 * D * D
    elif D > 1:
        count += weights_of(D, (64,), below)
    assert sum(leaf.size for leaf in leaves) == count


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_a_plain_architecture_is_linear_and_has_nothing_to_train_hidden(name, random_dynamics, quickly):
    spec = Architecture.named(name)
    assert spec.trains_hidden_layers == (name != "default")
    assert not spec.plain.trains_hidden_layers and spec.plain.plain == spec.plain
    dynamics = random_dynamics(spec.plain, 3, 0)
    slopes = quickly(jax.vmap(jax.jacfwd(dynamics.drift)))(np.random.default_rng(0).standard_normal((3, 3)))
    np.testing.assert_allclose(slopes, np.broadcast_to(slopes[0], slopes.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dimension", [1, 2])
def test_an_architecture_with_drawn_weights_gives_finite_numbers(dimension, quickly):
    def at_one(key):
        return SMALL.build(dimension, key=key).drift_and_diffusion(jnp.ones(dimension))

    f, sigma = quickly(at_one)(jax.random.key(0))
    assert f.shape == (dimension,) and sigma.shape == (dimension, dimension)
    assert np.isfinite(f).all() and np.isfinite(sigma).all()


def test_all_quantities_are_those_of_the_equation_in_user_units(
    model, z, x64, fresh_seed, random_dynamics, quickly
):
    """grad V by differentiating V in user units, div M and div W by the Jacobians of M and W there."""
    model = Model(random_dynamics(SMALL, 3, fresh_seed), SMALL, SCALING)  # the weights in double precision

    def both(z):
        dV = jax.grad(model.potential)(z)
        M, W = model.dissipation(z), model.circulation(z)
        div_M, div_W = matrix_divergence(model.dissipation, z), matrix_divergence(model.circulation, z)
        f, sigma = model.drift_and_diffusion(z)
        given = (
            model.potential_gradient(z), model.dissipation_divergence(z), model.circulation_divergence(z),
            model.reversible_drift(z), model.irreversible_drift(z), model.drift(z), f, sigma,
        )  # fmt: skip
        assembled = -(M + W) @ dV + div_M + div_W
        return given, (
            dV,
            div_M,
            div_W,
            -M @ dV + div_M,
            -W @ dV + div_W,
            assembled,
            assembled,
            model.diffusion(z),
        )

    for value, truth in zip(*quickly(jax.vmap(both))(z), strict=True):
        np.testing.assert_allclose(value, truth, rtol=ROUNDING, atol=ROUNDING)


def test_the_density_of_a_model_is_that_of_its_networks_changed_in_variables(model, z, quickly):
    """rho_z(z) = rho_x(x) / |det A|, so that V_z = V_x + log |det A|."""
    V = quickly(jax.vmap(model.potential))(z)
    V_unit = quickly(jax.vmap(model.unit.potential))(jnp.asarray(SCALING.to_unit(z)))
    np.testing.assert_allclose(V, V_unit + np.log(0.2 * 7.0 * 1.5), rtol=1e-5)


def test_entropy_production_is_per_user_time(model, z, quickly):
    """It does not depend on the coordinates, and time is 25 times longer."""
    s = quickly(jax.vmap(lambda z: local_entropy_production(model, z)))(z)
    s_unit = quickly(jax.vmap(lambda x: local_entropy_production(model.unit, x)))(
        jnp.asarray(SCALING.to_unit(z))
    )
    np.testing.assert_allclose(s, s_unit / 25, rtol=1e-4)  # single precision, and z holds an offset of 40/7


def test_a_numpy_state_far_from_the_origin_keeps_its_digits(random_dynamics, fresh_seed):
    """At an offset of 1e9 scales single precision would round the state to multiples of 64 scales.

    In double precision the state is known to 1e-7 scales, which is where the tolerance comes from.
    """
    scaling = Scaling(center=(1e9, -1e9), scale=(1.0, 1.0), time=1.0)
    model = Model(random_dynamics(SMALL, 2, fresh_seed), SMALL, scaling)
    x = np.array([0.3, -1.1])
    here = model.potential_gradient(scaling.to_user(x))
    np.testing.assert_allclose(here, model.unit.potential_gradient(x), rtol=1e-4, atol=1e-5)


def test_numpy_in_gives_arrays_out_and_vmap_agrees_with_single_states(model, z, quickly):
    one = model.circulation(z[0])
    assert isinstance(one, jax.Array) and one.shape == (3, 3)
    assert model.potential(z[0]).shape == () and model.potential_gradient(z[0]).shape == (3,)
    np.testing.assert_allclose(quickly(jax.vmap(model.circulation))(z)[0], one, rtol=1e-3, atol=1e-5)


def test_a_time_reversed_model_flips_the_irreversible_drift_only(model, z, quickly):
    back = model.time_reversed()
    both = quickly(
        jax.vmap(lambda z: (model.irreversible_drift(z), back.irreversible_drift(z), back.drift(z)))
    )
    f_irr, f_irr_back, f_back = both(z)
    np.testing.assert_array_equal(f_irr_back, -f_irr)
    f_rev = quickly(jax.vmap(model.reversible_drift))(z)
    np.testing.assert_allclose(f_back, f_rev - f_irr, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(back.potential(z[0]), model.potential(z[0]))
    assert back.dimension == 3


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Constant("tridiagonal"), "`shape` must be a known name"),
        (lambda: Uniform("diagonal"), "`shape` must be a known name"),
        (lambda: Quadratic(-1), "`width` must be a whole number of at least 0"),
        (lambda: Quadratic(bumps=0), "`bumps` must be a whole number of at least 1"),
        (lambda: Quadratic(wells=0), "`wells` must be a whole number of at least 1"),
        (lambda: Quadratic(bump_scale=0.0), "`bump_scale` must be a positive finite number"),
        (lambda: Varying(0), "`width` must be a whole number of at least 1"),
        (lambda: Drawn(8, ()), "`scales` must be at least one number"),
        (lambda: Drawn(8, (0.0,)), "`scales` must be a positive"),
    ],
)
def test_a_specification_that_cannot_be_built_is_refused(build, words):
    with pytest.raises(InputError, match=words):
        build()
    assert not Architecture(diffusion=Constant("diagonal"), circulation=Absent()).trains_hidden_layers


def test_a_specification_in_the_place_of_another_is_refused():
    with pytest.raises(
        InputError, match="`diffusion` must be Varying or Triangular or Constant; got Uniform"
    ):
        Architecture(diffusion=Uniform())
