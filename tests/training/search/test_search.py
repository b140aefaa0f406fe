"""The default fit: closed forms for the linear part, tests that call for nothing, and the parts of a step."""

from dataclasses import replace

import jax
import numpy as np
import pytest
import scipy.linalg

from uidd import Result
from uidd.data import Trajectories, Transitions
from uidd.models import Architecture, Coefficients, Ensemble
from uidd.systems import Linear, Trap
from uidd.systems.linear import CIRCULATION, DISSIPATION, STIFFNESS
from uidd.systems.population import random_system
from uidd.thermodynamics import entropy_production
from uidd.training import fit, fit_linear
from uidd.training.problem import Problem
from uidd.training.search import first_stage, iterated, search
from uidd.training.search.candidates import Candidates
from uidd.training.solvers.outside_barrier import OutsideBarrier
from uidd.training.undetected import rate_worth


@pytest.fixture(scope="module")
def fitted():
    return fit(Linear().simulate(1000, 51, scheme="exact"), progress=False)


def test_the_linear_start_inverts_the_exact_transition():
    """Noise orthogonal to the regressors, of the exact covariance: only rounding is left, at any dt."""
    generator, dt, count = np.random.default_rng(0), 0.2, 500
    C = np.linalg.inv(STIFFNESS)
    step = scipy.linalg.expm(Linear().drift_matrix * dt)
    start = generator.standard_normal((count, 2))
    design = np.column_stack([start, np.ones(count)])
    noise = generator.standard_normal((count, 2))
    noise -= design @ np.linalg.lstsq(design, noise, rcond=None)[0]
    found = np.linalg.cholesky(noise.T @ noise / (count - 3))
    noise = noise @ np.linalg.inv(found).T @ np.linalg.cholesky(C - step @ C @ step.T).T
    linear = fit_linear(Transitions(start, start @ (step - np.eye(2)).T + noise, np.full(count, dt)))
    assert linear.result.successful
    np.testing.assert_allclose(linear.stiffness, STIFFNESS, rtol=1e-6)
    np.testing.assert_allclose(linear.diffusion @ linear.diffusion.T / 2, DISSIPATION, rtol=1e-6)
    np.testing.assert_allclose(linear.circulation, CIRCULATION, rtol=1e-6, atol=1e-9)


def test_frames_of_varying_step_start_from_the_euler_fit_and_say_so():
    parts = [Linear().simulate(100, 51, dt, seed=2).transitions() for dt in (0.01, 0.002)]
    pairs = Transitions(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    assert fit_linear(pairs).result == "euler_start"


def test_linear_data_call_for_no_network(fitted):
    assert [test.what for test in fitted.tests] == ["drift", "noise"]
    assert not any(test.called_for for test in fitted.tests)
    own = Coefficients.of(fitted.model.unit)
    assert not own.vector[own.penalised].any()


@pytest.mark.slow
def test_the_headline_covers_the_exact_rate_of_exactly_sampled_data(fitted):
    estimate = entropy_production(fitted, draws=20_000)
    assert estimate.result.successful
    assert abs(estimate.rate - Linear().entropy_production_rate) < 4 * estimate.standard_error
    # No smaller than what a path of this length leaves open, and not much larger.
    spread = (2 * estimate.rate / fitted.total_time) ** 0.5
    assert 0.5 * spread < estimate.standard_error < 3 * spread


@pytest.mark.slow
def test_equilibrium_data_give_an_interval_around_zero_that_is_narrow():
    """20 / T is what noise gives in equilibrium, see `Analysis.noise_floor`."""
    data = Trap(strength=0.0).simulate(1, 20_000)
    fitted = fit(data, progress=False)
    low, high = entropy_production(fitted, draws=20_000).interval
    assert low < 0 < high < 20 / fitted.total_time


def test_members_come_in_opposite_pairs_and_survive_a_file(fitted, tmp_path):
    ensemble = fitted.ensemble
    assert len(fitted.models) == len(ensemble) == 32
    # A linear fit keeps no networks; its members have what the data do not exclude.
    assert len(Coefficients.of(fitted.model.unit).vector) == 10 and ensemble.full is not None
    vectors = [Coefficients.of(model.unit).vector for model in (*fitted.models, ensemble.full)]
    for there, back in zip(vectors[:16], vectors[16:-1], strict=True):
        np.testing.assert_allclose((there + back) / 2, vectors[-1], rtol=1e-5, atol=1e-6)
    ensemble.save(tmp_path / "e.uidd")
    again = Ensemble.load(tmp_path / "e.uidd")
    assert again.observed == fitted.ensemble.observed < float("inf")
    for a, b in zip(jax.tree.leaves(again.models[3]), jax.tree.leaves(fitted.models[3]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_the_headline_of_a_fit_that_did_not_settle_says_so(fitted, tmp_path):
    from dataclasses import replace

    stalled = replace(fitted.ensemble, result=Result("still_improving", "The search stopped."))
    stalled.save(tmp_path / "e.uidd")
    for ensemble in (stalled, Ensemble.load(tmp_path / "e.uidd")):
        assert entropy_production(ensemble, draws=2000).result == "still_improving"


@pytest.mark.slow
def test_an_interrupted_search_resumes_bit_for_bit(fitted, tmp_path, monkeypatch):
    from uidd.training.search.search import Search

    data, advance = Linear().simulate(1000, 51, scheme="exact"), Search.advance
    with monkeypatch.context() as patch:
        patch.setattr(Search, "advance", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        first = fit(data, progress=False, checkpoint=tmp_path / "c.uidd")
    assert first.result == "interrupted" == first.ensemble.result and not first.models
    assert Search.advance is advance
    second = fit(data, progress=False, checkpoint=tmp_path / "c.uidd", resume=True)
    for a, b in zip(jax.tree.leaves(second.model), jax.tree.leaves(fitted.model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert second.history == fitted.history


def test_coefficients_and_dynamics_are_inverse_to_each_other():
    dynamics = Architecture().build(3, key=jax.random.key(0))
    weights = Coefficients.of(dynamics)
    vector = np.random.default_rng(0).standard_normal(len(weights.vector)).astype(np.float32)
    np.testing.assert_array_equal(Coefficients.of(weights.dynamics(vector)).vector, vector)
    # One scale of units, powers and products of third and fourth degree, bumps, the share of wells and their
    # offsets; then sigma, W, its current.
    assert weights.groups == (1 + 4 + 1 + 2) + 2 + (2 + 2)
    assert set(weights.component[weights.penalised]) == {0, 1, 2}


def test_the_rim_lies_away_from_all_data_and_knows_how_far():
    states = np.random.default_rng(0).standard_normal((3000, 2))
    outside = OutsideBarrier.of(states)
    near = np.array([np.linalg.norm(states - point, axis=1).min() for point in outside.points])
    assert (near > 0.39).all()
    np.testing.assert_allclose(outside.distances, near, rtol=1e-6)
    # The core is denser than the rest: its mean of |z|^2 is far below two, that of all states.
    assert (outside.core**2).sum(axis=1).mean() < 0.5


@pytest.mark.parametrize("dimension", [2, 5, 12, 32])
def test_a_right_potential_costs_nothing_on_the_rim(dimension):
    """V = |z|^2 / 2 for Gaussian states; an inverted one costs a lot."""
    states = np.random.default_rng(1).standard_normal((20_000, dimension)).astype(np.float32)
    weights = Coefficients.of(Architecture().plain.build(dimension, key=jax.random.key(0)))
    outside = OutsideBarrier.of(states)
    assert outside.cost(weights, weights.vector) < 1e-6
    assert outside.cost(weights, -weights.vector) > 100


@pytest.mark.slow
def test_a_double_well_in_one_dimension_has_its_barrier():
    """dx = (x - x^3) dt + sqrt(2 D) dB has V = (x^4 / 4 - x^2 / 2) / D: a barrier of one at D = 1/4."""
    generator, D, dt, fine = np.random.default_rng(0), 0.25, 0.1, 20
    x = generator.choice([-1.0, 1.0], 40)
    frames = [x]
    for _ in range(500):
        for _ in range(fine):
            x = x + (x - x**3) * dt / fine + generator.standard_normal(40) * (2 * D * dt / fine) ** 0.5
        frames.append(x)
    fitted = fit(Trajectories.from_arrays(np.stack(frames, axis=1)[:, :, None], dt=dt), progress=False)
    assert fitted.result.successful
    assert [test.what for test in fitted.tests if test.called_for] == ["drift"]
    top, left, right = np.array([[0.0], [-1.0], [1.0]])

    def barrier(model):
        return float(model.potential(top) - (model.potential(left) + model.potential(right)) / 2)

    heights = [barrier(model) for model in fitted.models]
    assert abs(barrier(fitted.model) - 1) < 4 * np.std(heights)
    assert 0.005 < np.std(heights) < 0.3


@pytest.mark.slow
def test_a_current_seen_on_its_way_from_far_out_does_not_pass_for_a_gradient(monkeypatch):
    """dz = -(1 + 6 J) grad V dt + sqrt(2) dB, V = 2 x^2 + x y + y^4 / 4: pairs that start evenly in a box.

    The gradient nearest to such a drift is far from grad V. Asked for at the linear model's W, V is off by
    what the noise of the pairs leaves: M grad V has a variance of 2 / (n dt) a unit, some .3 kT along 2.5.
    """
    generator, dt, fine, paths = np.random.default_rng(0), 2e-3, 10, 6000
    z = 2.5 * (2 * generator.random((paths, 2)) - 1)
    turning = np.array([[1.0, 6.0], [-6.0, 1.0]])
    frames = [z]
    for _ in range(2):
        for _ in range(fine):
            force = -np.stack([4 * z[:, 0] + z[:, 1], z[:, 0] + z[:, 1] ** 3], axis=1)
            noise = generator.standard_normal(z.shape) * (2 * dt / fine) ** 0.5
            z = z + force @ turning.T * dt / fine + noise
        frames.append(z)
    found, problem = _search(Trajectories.from_arrays(np.stack(frames, axis=1), dt=dt))
    own_maximise, solved = first_stage.maximise, []

    def only_V(posterior, *rest, **options):
        solution = own_maximise(posterior, *rest, **options)
        solved.append(posterior.coefficients.dynamics(solution.vector))
        raise KeyboardInterrupt

    monkeypatch.setattr(first_stage, "maximise", only_V)
    with pytest.raises(KeyboardInterrupt):
        found.advance(found.begin())
    learned = jax.vmap(solved[0].potential)(problem.scaling.to_unit(z))
    exact = 2 * z[:, 0] ** 2 + z[:, 0] * z[:, 1] + z[:, 1] ** 4 / 4
    assert np.std(learned - exact) < 1.0


@pytest.mark.slow
def test_a_bowl_whose_current_varies_keeps_its_V():
    """The way in to seed 2217 of the population: where V comes first it is a fifth as steep as it should be.

    Its slope is known to some 15 %: 385 of its fastest times, and it relaxes five times slower.
    """
    system = random_system(2217)
    data = system.simulate()
    found, problem = _search(data)
    stage = found.advance(found.begin())
    states = system.draws.reshape(-1, 2)[::100]
    learned = jax.vmap(found.dynamics_of(stage).potential)(problem.scaling.to_unit(states))
    with jax.enable_x64(True):
        exact = jax.vmap(system.dynamics.potential)(states)
    assert stage.name == "drift"
    assert 0.5 < np.polyfit(exact, learned, 1)[0] < 1.5


def _search(data):
    problem = Problem.of(data, Architecture(), None, seed=0)
    candidates = Candidates(Architecture(), problem.started, problem.linear, problem.pairs)
    parts = problem.sample(), problem.held_out(problem.test)
    return search.Search(candidates, None, *parts, stationary=problem.stationary, seed=0), problem


@pytest.mark.slow
def test_data_of_one_dimension_have_no_circulation():
    generator, dt = np.random.default_rng(0), 0.05
    decay, x = np.exp(-dt), np.zeros(4000)
    noise = generator.standard_normal(4000) * (1 - decay**2) ** 0.5
    for k in range(1, 4000):
        x[k] = decay * x[k - 1] + noise[k]
    fitted = fit(Trajectories.from_arrays(x, dt=dt), progress=False)
    estimate = entropy_production(fitted, draws=4000)
    assert estimate.rate == 0 and fitted.model.dimension == 1


def test_a_current_that_is_left_out_costs_a_quarter_of_its_rate_times_the_time():
    """Linear drifts f = -z and f = -z + w J z in unit noise: <log p - log q> over pairs, by simulation."""
    generator, w, dt = np.random.default_rng(0), 2.0, 0.01
    z = generator.standard_normal((200_000, 2))
    current = w * z @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    kick = np.sqrt(2 * dt) * generator.standard_normal(z.shape)
    nats = np.sum((kick + current * dt) ** 2 - kick**2, axis=1) / (4 * dt)
    rate = np.mean(np.sum(current**2, axis=1))
    error = nats.std() / len(nats) ** 0.5
    assert 4 * error < rate * dt / 40
    assert abs(nats.mean() - rate * dt / 4) < 4 * error
    assert rate_worth(nats.mean() * 100, 100 * dt) == pytest.approx(rate, rel=4 * error / nats.mean())


def test_a_round_that_lowers_the_log_density_goes_back(monkeypatch):
    """Steps that go astray: the model stays where it was, and says that it is not at its best."""
    data = Linear().simulate(100, 51, scheme="exact")
    found, _ = _search(data)
    begun, own_maximise, moves = found.begin(), iterated.maximise, []

    def astray(posterior, solution, **options):
        after = own_maximise(posterior, solution, **options)
        moves.append(solution.vector)
        return replace(after, vector=after.vector + 1.0)

    monkeypatch.setattr(iterated, "maximise", astray)
    stage = found.advance(begun)
    assert stage.name == "all" and len(moves) < iterated.ROUNDS
    np.testing.assert_array_equal(stage.vector, begun.vector)
    assert stage.solution.expected_gain > search.TOO_MUCH
    assert found.found(stage, stage.solution).result == "still_improving"
