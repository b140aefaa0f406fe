"""What the stages minimise, at systems whose V, sigma and W are known."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from uidd.components import Constant, Full, SumOfSquares, Triangular
from uidd.dynamics import solve_lower
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture
from uidd.systems import DrivenWells, Linear, VaryingNoise
from uidd.systems.driven_wells import stationary_states
from uidd.systems.langevin import stationary_starts
from uidd.systems.varying_noise import BOX
from uidd.training.objectives import (
    CirculationObjective,
    LikelihoodObjective,
    NoiseObjective,
    PotentialObjective,
)

SMALL = Architecture(SumOfSquares(4, (8,)), Triangular((8,)), Full((8,)))


@dataclass(frozen=True)
class Bent:
    """V + phi with phi = a . sin(k z): any other potential, on the scale 1 / k of the states."""

    dynamics: object
    a: np.ndarray
    k: np.ndarray

    def potential_gradient(self, z):
        return self.dynamics.potential_gradient(z) + self.slope(z)

    def slope(self, z):
        return self.a * self.k * jnp.cos(self.k * z)


def examples_of(dynamics, z):
    """A root of M and root^-1 (f - div M)."""
    f, sigma = dynamics.drift_and_diffusion(z)
    root = sigma / 2**0.5
    return solve_lower(root, f - dynamics.dissipation_divergence(z)), root


def gaussian(generator, count):
    return generator.multivariate_normal(np.zeros(2), Linear().covariance, count)


def varying(generator, count):
    return stationary_starts(VaryingNoise().dynamics, BOX)(generator, count)


KNOWN = [(Linear(), gaussian), (DrivenWells(0.5), stationary_states), (VaryingNoise(), varying)]


@pytest.mark.parametrize(("system", "draw"), KNOWN, ids=lambda each: type(each).__name__)
def test_the_loss_at_the_exact_potential_is_the_rate_and_elsewhere_more(system, draw, x64):
    """E |f_irr + M grad phi|^2 = EPR + E |grad phi|_M^2, because E f_irr . grad phi = 0 for every phi."""
    dynamics, generator = system.dynamics, np.random.default_rng(0)
    states = draw(generator, 20_000)
    bent = Bent(dynamics, generator.uniform(1, 2, states.shape[1]), 1 / states.std(axis=0))

    def at(z):
        pull, root = examples_of(dynamics, z)
        losses = [PotentialObjective().loss(V, z, pull, root) for V in (dynamics, bent)]
        return *losses, jnp.sum((bent.slope(z) @ root) ** 2)

    exact, other, apart = (np.asarray(each) for each in jax.jit(jax.vmap(at))(states))
    count = len(states) ** 0.5
    assert abs(exact.mean() - system.entropy_production_rate) < 5 * exact.std() / count
    mixed = other - exact - apart
    assert abs(mixed.mean()) < 5 * mixed.std() / count
    assert apart.mean() > 5 * mixed.std() / count  # the control: what is added could be seen


def test_for_the_linear_system_the_loss_is_exact_in_moments(x64):
    """Quadratic losses a z . a z + ... have the mean Tr[Q C]: the rate is 47.06 to rounding.

    With V' = V + z^T B z / 2 the surplus is Tr[B M B C].
    """
    system = Linear()
    C, M, dynamics = system.covariance, system.dissipation_matrix, system.dynamics
    B = np.array([[3.0, 1.0], [1.0, -2.0]])

    def mean_of(gradient):
        class Quadratic:
            potential_gradient = staticmethod(gradient)

        def loss(z):
            return PotentialObjective().loss(Quadratic, z, *examples_of(dynamics, z))

        return np.trace(jax.jit(jax.hessian(loss))(jnp.zeros(2)) @ C) / 2

    exact = mean_of(dynamics.potential_gradient)
    np.testing.assert_allclose(exact, system.entropy_production_rate, rtol=1e-10)
    other = mean_of(lambda z: dynamics.potential_gradient(z) + B @ z)
    np.testing.assert_allclose(other - exact, np.trace(B @ M @ B @ C), rtol=1e-9)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("direction", [1, -1])
def test_the_losses_of_noise_and_circulation_vanish_at_their_own_fields(
    temperature, direction, x64, fresh_seed, random_dynamics
):
    """And not at those of other weights."""
    architecture = Architecture(SMALL.potential, SMALL.diffusion, SMALL.circulation, temperature)
    truth, other = (random_dynamics(architecture, 3, fresh_seed + k) for k in range(2))
    if direction < 0:
        truth, other = truth.time_reversed(), other.time_reversed()

    @jax.jit
    def at(z):
        dV, current = truth.potential_gradient(z), truth.irreversible_drift(z)
        root = truth.diffusion(z) / 2**0.5
        inverse = solve_lower(root, jnp.eye(3))
        noise = [NoiseObjective().loss(each, z, truth.diffusion(z)) for each in (truth, other)]
        wind = [
            CirculationObjective().loss(each, z, dV, inverse @ current, inverse) for each in (truth, other)
        ]
        return noise, wind, jnp.sum((inverse @ current) ** 2)

    noise, wind, size = at(jnp.asarray(np.random.default_rng(fresh_seed).standard_normal(3)))
    assert noise[0] < 1e-20 < 1e-8 < noise[1]
    assert wind[0] < 1e-20 * (1 + size) and wind[1] > 1e-8 * size


def test_the_loss_of_a_pair_is_minus_its_log_density(x64, fresh_seed, random_dynamics):
    dynamics, generator = random_dynamics(SMALL, 2, fresh_seed), np.random.default_rng(fresh_seed)
    z, step = jnp.asarray(generator.standard_normal((2, 2)))

    def at(z):
        return LikelihoodObjective(EulerMaruyama()).loss(
            dynamics, z, step, 0.1
        ), *dynamics.drift_and_diffusion(z)

    loss, f, sigma = (np.asarray(each) for each in jax.jit(at)(z))
    white = np.linalg.solve(sigma, step - 0.1 * f) / 0.1**0.5
    expected = white @ white / 2 + np.log(np.diag(sigma)).sum() + np.log(2 * np.pi * 0.1)
    np.testing.assert_allclose(loss, expected, rtol=1e-10)


@pytest.mark.parametrize("stage", [NoiseObjective(), PotentialObjective(), CirculationObjective()])
def test_the_leaves_that_learn_are_those_of_the_component(stage, random_dynamics):
    dynamics = random_dynamics(SMALL, 2, 0)
    weights, rest = eqx.partition(dynamics, stage.trainable(dynamics))
    names = ("potential_component", "diffusion_component", "circulation_component")
    for name in names:
        own, others = (
            jax.tree.leaves(eqx.filter(getattr(part, name), eqx.is_array)) for part in (weights, rest)
        )
        assert bool(own) == (name == stage.component) and bool(others) == (name != stage.component)


def test_all_leaves_learn_from_the_likelihood(random_dynamics):
    dynamics = random_dynamics(Architecture(SMALL.potential, Constant("full"), SMALL.circulation), 2, 0)
    weights, rest = eqx.partition(dynamics, LikelihoodObjective(EulerMaruyama()).trainable(dynamics))
    assert not jax.tree.leaves(eqx.filter(rest, eqx.is_array))
    assert len(jax.tree.leaves(weights)) == len(jax.tree.leaves(eqx.filter(dynamics, eqx.is_array)))
