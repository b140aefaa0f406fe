"""The default fit: closed forms for the linear part, tests that call for nothing, and the parts of a step."""

import jax
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from uidd import Result
from uidd.data import Trajectories, Transitions
from uidd.models import Architecture, Coefficients, Ensemble
from uidd.systems import Linear, Trap
from uidd.systems.linear import CIRCULATION, DISSIPATION, STIFFNESS
from uidd.thermodynamics import entropy_production
from uidd.training import fit, fit_linear
from uidd.training.ensemble import unseen_rate
from uidd.training.local_posterior import Factored, LocalPosterior
from uidd.training.rim import Rim


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


def test_the_headline_covers_the_exact_rate_of_exactly_sampled_data(fitted):
    estimate = entropy_production(fitted, draws=20_000)
    assert estimate.result.successful
    assert abs(estimate.rate - Linear().entropy_production_rate) < 4 * estimate.standard_error
    # No smaller than what a path of this length leaves open, and not much larger.
    spread = (2 * estimate.rate / fitted.total_time) ** 0.5
    assert 0.5 * spread < estimate.standard_error < 3 * spread


def test_equilibrium_data_give_an_interval_around_zero_that_is_narrow():
    data = Trap(strength=0.0).simulate(1, 20_000)
    fitted = fit(data, progress=False)
    low, high = entropy_production(fitted, draws=20_000).interval
    assert low < 0 < high < 20 / data.total_time


def test_members_come_in_opposite_pairs_and_survive_a_file(fitted, tmp_path):
    ensemble = fitted.ensemble
    assert len(fitted.models) == len(ensemble) == 32
    # A linear fit keeps no networks; its members have what the data do not exclude.
    assert len(Coefficients.of(fitted.model.unit).vector) == 10 and ensemble.bendable is not None
    vectors = [Coefficients.of(model.unit).vector for model in (*fitted.models, ensemble.bendable)]
    for there, back in zip(vectors[:16], vectors[16:-1], strict=True):
        np.testing.assert_allclose((there + back) / 2, vectors[-1], rtol=1e-5, atol=1e-6)
    ensemble.save(tmp_path / "e.uidd")
    again = Ensemble.load(tmp_path / "e.uidd")
    for a, b in zip(jax.tree.leaves(again.models[3]), jax.tree.leaves(fitted.models[3]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_headline_of_a_fit_that_did_not_settle_says_so(fitted, tmp_path):
    from dataclasses import replace

    stalled = replace(fitted.ensemble, result=Result("still_improving", "The search stopped."))
    stalled.save(tmp_path / "e.uidd")
    for ensemble in (stalled, Ensemble.load(tmp_path / "e.uidd")):
        assert entropy_production(ensemble, draws=2000).result == "still_improving"


def test_an_interrupted_search_resumes_bit_for_bit(fitted, tmp_path, monkeypatch):
    from uidd.training.search import Search

    data, advance = Linear().simulate(1000, 51, scheme="exact"), Search.advance
    with monkeypatch.context() as patch:
        patch.setattr(Search, "advance", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        first = fit(data, progress=False, checkpoint=tmp_path / "c.uidd")
    assert first.result == "interrupted" and not first.models
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
    # One scale of units, powers and products of third and fourth degree, bumps; then sigma, W, its current.
    assert weights.groups == (1 + 4 + 1) + 2 + (2 + 2)
    assert set(weights.component[weights.penalised]) == {0, 1, 2}


def test_a_factored_matrix_solves_across_many_decades():
    generator = np.random.default_rng(0)
    root = generator.standard_normal((60, 20)) * 10.0 ** np.linspace(-6, 6, 20)
    matrix, x = root.T @ root, generator.standard_normal(20)
    size = np.sqrt(np.diag(matrix))
    found = Factored.of(matrix).solve(size * x)
    np.testing.assert_allclose(matrix @ found / size, x, rtol=1e-8, atol=1e-10)


def test_the_rim_lies_away_from_all_data_and_knows_how_far():
    states = np.random.default_rng(0).standard_normal((3000, 2))
    rim = Rim.of(states)
    near = np.array([np.linalg.norm(states - point, axis=1).min() for point in rim.points])
    assert (near > 0.39).all()
    np.testing.assert_allclose(rim.distances, near, rtol=1e-6)
    # The core is denser than the rest: its mean of |z|^2 is far below two, that of all states.
    assert (rim.core**2).sum(axis=1).mean() < 0.5


@pytest.mark.parametrize("dimension", [2, 5, 12, 32])
def test_a_right_potential_costs_nothing_on_the_rim(dimension):
    """V = |z|^2 / 2 for Gaussian states; an inverted one costs a lot."""
    states = np.random.default_rng(1).standard_normal((20_000, dimension)).astype(np.float32)
    weights = Coefficients.of(Architecture().plain.build(dimension, key=jax.random.key(0)))
    rim = Rim.of(states)
    assert rim.cost(weights, weights.vector) < 1e-6
    assert rim.cost(weights, -weights.vector) > 100


def test_the_quadratic_model_finds_the_ridge_solution_and_switches_off_what_is_noise():
    """A linear regression with known design: coefficients of a group without signal get a large precision."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((4000, 40))
    truth = np.concatenate([generator.standard_normal(20), np.zeros(20)])
    y = X @ truth + generator.standard_normal(4000)

    class Weights:
        group = np.repeat([0, 1], 20)
        groups = 2
        penalised = np.ones(40, bool)
        usual_precision = np.ones(2)
        group_owner = np.zeros(2, int)

    rim = np.zeros((0,)), np.zeros((0, 40)), np.ones(40, bool)
    quadratic = LocalPosterior(np.zeros(40), X.T @ y, X.T @ X, *rim)
    x, precision = quadratic.solved(Weights, np.ones(2))
    assert 0.3 < precision[0] < 3 and precision[1] > 300
    ridge = np.linalg.solve(X.T @ X + np.diag(precision[Weights.group]), X.T @ y)
    np.testing.assert_allclose(x, ridge, rtol=0.05, atol=1e-3)
    unpenalised = np.linalg.solve(X.T @ X, X.T @ y)
    assert np.linalg.norm(x[20:]) < 0.7 * np.linalg.norm(unpenalised[20:])
    # What was switched off comes back when the data call for it, and the other way round.
    again, turned = quadratic.solved(Weights, np.array([1e8, 1.0]))
    np.testing.assert_allclose(again, x, rtol=0.05, atol=1e-3)
    np.testing.assert_allclose(turned[0], precision[0], rtol=0.05)


@pytest.mark.parametrize(("owner", "strength", "kept"), [(0, 0.18, True), (2, 0.18, False), (2, 1.0, True)])
def test_a_group_of_W_has_to_gain_more_than_one_of_V(owner, strength, kept):
    """Evidence by a closed form: ten coefficients, each seen with variance one, of the size `strength`."""
    n, seen = 10, 100.0

    class Weights:
        group = np.zeros(n, int)
        groups = 1
        penalised = np.ones(n, bool)
        usual_precision = np.ones(1)
        group_owner = np.array([owner])

    F, x = seen * np.eye(n), np.full(n, strength)
    quadratic = LocalPosterior(np.zeros(n), F @ x, F, np.zeros(0), np.zeros((0, n)), np.ones(n, bool))
    _, precision = quadratic.solved(Weights, np.ones(1))
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

    class Weights:
        group = np.repeat([-1, 0, 1, 2], 3)
        groups = 3
        penalised = group >= 0
        usual_precision = np.ones(3)
        group_owner = np.zeros(3, int)

    center = generator.standard_normal(12)
    none = np.zeros(0), np.zeros((0, 12)), np.ones(12, bool)
    quadratic = LocalPosterior(center, X.T @ (y - X @ center), X.T @ X, *none)

    def exact(precision):
        wide = np.where(Weights.group < 0, 1e-9 * np.diag(X.T @ X), np.append(precision, 0)[Weights.group])
        covariance = np.eye(50) + (X / wide) @ X.T
        return -(np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)) / 2

    for off in (1e8, 0.3):
        given = np.array([2.0, 1.0, off])
        evidence = quadratic.of_group(Weights, given, 1)
        for own in (0.1, 1.0, 30.0):
            gain = exact(np.array([2.0, own, off])) - exact(np.array([2.0, 1e12, off]))
            assert float(evidence(own)) == pytest.approx(gain, abs=2e-3)


def test_a_damped_step_goes_from_the_maximum_to_none():
    generator = np.random.default_rng(2)
    X = generator.standard_normal((200, 10))

    class Weights:
        group = np.zeros(10, int)
        groups = 1
        penalised = np.ones(10, bool)
        usual_precision = np.ones(1)

    center, precision = generator.standard_normal(10), np.ones(1)
    rim = np.zeros(0), np.zeros((0, 10)), np.ones(10, bool)
    quadratic = LocalPosterior(center, generator.standard_normal(10), X.T @ X, *rim)
    best, _ = quadratic.maximum(Weights, precision)
    np.testing.assert_allclose(quadratic.damped(Weights, precision, 1e-12), best, rtol=1e-6)
    np.testing.assert_allclose(quadratic.damped(Weights, precision, 1e9), center, atol=1e-6)


def test_what_is_held_stays_and_the_rest_goes_to_its_own_maximum():
    """Against the same problem without the held coefficients."""
    generator = np.random.default_rng(3)
    X, center = generator.standard_normal((200, 6)), generator.standard_normal(6)
    free = np.array([True, True, False, True, False, True])

    class Weights:
        group = np.zeros(6, int)
        groups = 1
        penalised = np.ones(6, bool)
        usual_precision = np.ones(1)

    score, F = generator.standard_normal(6), X.T @ X
    x, _ = LocalPosterior(center, score, F, np.zeros(0), np.zeros((0, 6)), free).maximum(Weights, np.ones(1))
    np.testing.assert_array_equal(x[~free], center[~free])
    move = np.linalg.solve(F[np.ix_(free, free)] + np.eye(4), (score - center)[free])
    np.testing.assert_allclose(x[free], center[free] + move, rtol=1e-9)


def test_the_rim_is_solved_exactly():
    """A hundred places, most of which fall at the unconstrained maximum; against a general optimiser."""
    generator = np.random.default_rng(4)
    X, A = generator.standard_normal((40, 8)), generator.standard_normal((100, 8))

    class Weights:
        group = np.zeros(8, int)
        groups = 1
        penalised = np.ones(8, bool)
        usual_precision = np.ones(1)

    center, score = generator.standard_normal(8), 1e3 * generator.standard_normal(8)
    rises = generator.uniform(0, 3, 100)
    quadratic = LocalPosterior(center, score, X.T @ X / 1e3, rises, A, np.ones(8, bool))
    x, _ = quadratic.maximum(Weights, np.ones(1))
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
    assert unseen_rate(9.0, 12.0) == pytest.approx(3.0 / 3**0.5)
