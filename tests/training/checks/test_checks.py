"""Every assumption broken once: the right line complains; and none for data of the model itself."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid

from uidd.data import Scaling, Trajectories
from uidd.likelihood import Cubature, EulerMaruyama
from uidd.models import Architecture, Coefficients, Model
from uidd.training.checks.checks import _size_of_noise, checked
from uidd.training.checks.verdicts import Checks
from uidd.training.regression.misfit import noise_misfit

DT, PATHS, FRAMES = 0.02, 100, 300


@pytest.fixture(scope="module")
def model():
    """V = |z|^2 / 2, sigma = 1 and a constant W, of Euler's scheme."""
    spec = Architecture().plain
    own = Coefficients.of(spec.build(2, key=jax.random.key(0)))
    vector = own.vector
    vector[own.component == 2] = 0.8
    return Model(own.dynamics(vector), spec, Scaling.identity(2))


def paths(model, *, seed=0, force=lambda z: 0.0, size=lambda z, k: 1.0, draw=None, observed=0.0, far=0.0):
    """Euler paths of the model, with something added."""
    sigma = np.asarray(model.diffusion(np.zeros(2)))
    M, W = sigma @ sigma.T / 2, np.asarray(model.circulation(np.zeros(2)))
    generator = np.random.default_rng(seed)
    z = generator.standard_normal((PATHS, 2))
    z[:3, 0] += far
    states = [z]
    for k in range(FRAMES):
        noise = generator.standard_normal(z.shape) if draw is None else draw(generator, z.shape)
        z = z - DT * z @ (M + W).T + DT * force(z) + DT**0.5 * size(z, k) * noise @ sigma.T
        states.append(z)
    path = np.stack(states, axis=1)
    return Trajectories.from_arrays(path + observed * generator.standard_normal(path.shape), dt=DT)


def failed(checks: Checks) -> set[str]:
    return {line.name for line in checks if line.verdict == line.name}


@pytest.mark.slow
def test_none_complains_about_data_of_the_model(model):
    """Chance 2e-4 a line, seven lines, five data sets: one in 140 such tests would fail. More data sets are
    asked by `benchmarks/null_checks.py`."""
    for seed in range(5):
        found = checked(model, EulerMaruyama(), paths(model, seed=seed))
        assert len(found) == 7 and not failed(found), str(found)
        assert found.result.successful and found.noise_error == 0.0


def test_a_noise_that_is_off_but_small_is_told_for_the_rate(model):
    """sigma (1 + .06 tanh z) makes M off by .12 tanh z in both directions: Frobenius' norm has the root mean
    square .12 sqrt(2 <tanh^2>) = .107 under a normal density, less than what complains.
    Over 20 seeds .077 to .117, with a mean of .098 and a spread of .011."""
    found = checked(model, EulerMaruyama(), paths(model, size=lambda z, k: 1 + 0.06 * np.tanh(z[:, :1])))
    assert found.result.successful, str(found)
    assert 0.107 - 5 * 0.011 < found.noise_error < 0.107 + 5 * 0.011


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("drift", {"force": lambda z: -3 * z**3}),
        ("noise", {"size": lambda z, k: 1 + 0.4 * np.tanh(z[:, :1])}),
        ("memory", {"observed": 0.1}),
        ("tails", {"draw": lambda generator, shape: generator.standard_t(4, shape) / 2**0.5}),
        ("not_stationary", {"size": lambda z, k: 1.0 if k < FRAMES / 2 else 1.3}),
    ],
)
def test_the_line_of_a_broken_assumption_complains(model, name, broken):
    found = checked(model, EulerMaruyama(), paths(model, **broken))
    assert name in failed(found), str(found)
    assert not found.result.successful and found.result.message


def test_paths_that_fall_back_from_far_out_in_steps_that_no_noise_makes_are_outliers(model):
    """Three of a hundred paths start eight standard deviations out: behind a wall that the model does not
    have, or where it is as right as elsewhere. Over 20 seeds each was told, and none without a wall was."""
    wall = {"force": lambda z: np.where(z > 6, -100.0, 0.0), "far": 8.0}
    found, free = (checked(model, EulerMaruyama(), paths(model, **k)) for k in (wall, {"far": 8.0}))
    assert "tails" in failed(found), str(found)
    assert "tails" not in failed(free), str(free)


def test_a_current_that_is_too_weak_shows_in_its_work(model):
    """Twice the turning: the learned current does twice the work along the paths that its square says."""
    W = np.asarray(model.circulation(np.zeros(2)))
    found = checked(model, EulerMaruyama(), paths(model, force=lambda z: -z @ W.T))
    assert "work" in failed(found), str(found)
    (work,) = (line for line in found if line.name == "work")
    M = np.asarray(model.dissipation(np.zeros(2)))
    rate = -float(np.trace(np.linalg.solve(M, W @ W)))
    assert abs(work.size - 2 * rate) < 0.25 * 2 * rate  # 2 <w . (2 v - v)>


@pytest.mark.slow
@pytest.mark.parametrize(("dt", "names"), [(0.02, set()), (1.0, {"coarse"})])
def test_frames_too_far_apart_are_told_from_jumps(dt, names):
    """Two wells at z = +-1, three kT deep: within a unit of time a path may cross, or not."""
    spec = Architecture()
    unit = spec.build(1, key=jax.random.key(0))
    well = lambda d: (d.potential_component.stiffness, d.potential_component.nonlinear.polynomial.quartic)  # noqa: E731
    stiffness, quartic = well(unit)
    assert quartic.shape == (1,)
    unit = eqx.tree_at(well, unit, (0 * stiffness - 12.0, 0 * quartic + 72.0))  # -6 z^2 + 72 z^4 / 4!
    drift = jax.jit(jax.vmap(unit.drift))
    sigma = float(unit.diffusion(np.zeros(1))[0, 0])
    generator, fine = np.random.default_rng(0), 0.002
    z = np.sign(generator.standard_normal((200, 1))).astype(np.float32)
    states = [z]
    for _ in range(100):
        for _ in range(round(dt / fine)):
            z = z + fine * np.asarray(drift(z)) + fine**0.5 * sigma * generator.standard_normal(z.shape)
        states.append(z)
    data = Trajectories.from_arrays(np.stack(states, axis=1).astype(np.float64), dt=dt)
    found = checked(Model(unit, spec, Scaling.identity(1)), Cubature(4, 4), data)
    assert failed(found) & {"coarse", "tails"} == names, str(found)
    assert found.result == ("coarse" if names else "ok")


def test_the_size_of_a_misfit_that_was_not_found_is_not_told(model):
    good, bad = (checked(model, EulerMaruyama(), paths(model, **each)) for each in ({}, {"observed": 0.1}))
    assert "size" not in str(good) and "kT" not in str(good)
    (memory,) = (line for line in bad if line.name == "memory")
    assert memory.off.endswith("kT") and memory.off in str(bad)


@pytest.mark.slow
@pytest.mark.parametrize("steepness", [0.5, 1.0, 3.0])
def test_the_size_of_a_noise_misfit_is_what_V_is_off_by(steepness):
    """V' = int z / (1 + d) + log(1 + d) for f = -z and M = 1 + d, against z^2 / 2, by quadrature."""
    amplitude = 0.3
    generator = np.random.default_rng(0)
    z = generator.standard_normal((100_000, 1))
    d = amplitude * np.tanh(steepness * z)
    misfit = noise_misfit(z, np.sqrt(1 + d) * generator.standard_normal(z.shape))
    size = _size_of_noise(misfit, len(z))
    grid = np.linspace(-5, 5, 2001)
    d = amplitude * np.tanh(steepness * grid)
    wrong = cumulative_trapezoid(grid / (1 + d), grid, initial=0) + np.log1p(d)
    weight = np.exp(-(grid**2) / 2)
    off = wrong - grid**2 / 2
    V_error = np.sqrt(np.average((off - np.average(off, weights=weight)) ** 2, weights=weight))
    assert 0.9 * V_error < size < 1.25 * V_error  # 1.00 to 1.15 over 34 draws
