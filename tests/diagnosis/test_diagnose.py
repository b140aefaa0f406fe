"""Chains with known answers: what is found, and what is said of it."""

import numpy as np
import pytest

import uidd
from uidd.diagnosis import Chains
from uidd.systems import VaryingNoise

STEP = 0.05


def driven(circulation: float, *, chains: int = 24, draws: int = 2000, dimension: int = 2, seed: int = 0):
    """Euler steps of dZ = -(1 + W) S Z dt + sqrt(2) dB with S = diag(1, 2, ..) and W_12 = -W_21 = c.

    f_irr = -W S z, and with cov z = S^-1 the entropy production is E |W S z|^2 = c^2 (S_11 + S_22) = 3 c^2.
    Without a circulation the chain is in detailed balance for every step: (1 - h S) is symmetric and the
    noise isotropic. M_0 = 1 and grad L = -f, so E |grad L - grad V|^2 = E |f_irr|^2 is the same number.
    """
    generator = np.random.default_rng(seed)
    S = np.diag(np.arange(1.0, dimension + 1))
    W = np.zeros((dimension, dimension))
    W[0, 1], W[1, 0] = circulation, -circulation
    z = generator.standard_normal((chains, dimension)) / np.sqrt(np.diag(S))
    found = [z]
    for _ in range(draws - 1):
        z = z - STEP * z @ S @ (np.eye(dimension) + W).T
        z = z + (2 * STEP) ** 0.5 * generator.standard_normal(z.shape)
        found.append(z)
    return np.stack(found, axis=1)


@pytest.fixture(scope="module")
def by_circulation():
    """One diagnosis of three samplers, as if their batch sizes were 1, 8 and all data."""
    chains = {8: driven(0.0, seed=1), "b1": driven(0.5), None: driven(0.0, seed=2)}
    return uidd.diagnose_sampler(chains, step=STEP)


def test_a_rotating_drift_has_the_rate_of_its_closed_form(by_circulation):
    found = by_circulation.batches[0]
    assert found.batch_size == 1 and found.broken and found.chance == 2.0**-11
    # Half a step's difference between Euler's stationary density and e^-V: h S_22 / 2 = 5 %.
    for value in (found.rate, found.fisher_information):
        assert abs(value.rate - 0.75) < 5 * value.standard_error + 0.05 * 0.75
    assert found.bias == pytest.approx(found.plug_in - found.rate.rate)
    assert found.pairs == 24 * 1999 and found.parts == 12


def test_chains_in_detailed_balance_show_nothing(by_circulation):
    for found in by_circulation.batches[1:]:
        assert not found.broken and found.chance > 0.01
        assert abs(found.rate.rate) < 5 * found.rate.standard_error < found.plug_in * 5
        assert found.plug_in > 0 and found.result in ("ok", "constant_noise")


def test_the_smallest_batch_like_the_full_one_is_recommended(by_circulation):
    assert [batch.batch_size for batch in by_circulation.batches] == [1, 8, "full"]
    assert by_circulation.recommended == 8
    assert "Batch size 8 is enough" in by_circulation.recommendation
    table = str(by_circulation)
    assert "broken" in table and by_circulation.recommendation in table
    assert by_circulation.to_dict()["batches"][0]["broken"] is True
    assert by_circulation.result == "constant_noise"  # as it is


def test_one_chain_is_cut_into_stretches_and_says_so_where_it_is_short():
    found = uidd.diagnose_sampler(driven(0.0, chains=1, draws=3000)[0], step=STEP)
    assert found.batches[0].parts == 12 and found.batches[0].pairs == 12 * 249
    assert found.batches[0].batch_size == "given" and found.recommended is None
    assert found.result == "short"


def test_one_coordinate_has_no_currents():
    found = uidd.diagnose_sampler(driven(0.0, draws=600)[:, :, :1], step=STEP, noise=None)
    (batch,) = found.batches
    assert batch.rate.rate == 0 and not batch.broken and batch.fisher_information is None
    assert "one_dimension" in [note.code for note in batch.notes]


def test_chains_on_their_way_are_not_stationary():
    chains = driven(0.0, draws=600) + np.linspace(3, 0, 600)[:, None]
    assert uidd.diagnose_sampler(chains, step=STEP).result == "not_stationary"


def test_a_wrong_step_is_seen_in_the_noise_and_thinning_is_said():
    found = uidd.diagnose_sampler(driven(0.0, draws=600), step=4 * STEP, thin=2)
    codes = [note.code for note in found.batches[0].notes]
    assert "noise_mismatch" in codes and "thinned" in codes


GOOD = np.random.default_rng(0).standard_normal((12, 200, 2))
BROKEN = GOOD.copy()
BROKEN[3, 5, 0] = np.nan


@pytest.mark.parametrize(
    ("chains", "options", "words"),
    [
        (BROKEN, {}, "`chains` must be finite numbers; got NaN or infinity in 1 of 12"),
        (GOOD * [1, 0], {}, "coordinates that move; got z2 constant"),
        (GOOD[:, :5], {}, "at least 100 pairs of draws a part; got 4"),
        (GOOD[0, :, 0], {}, "an array (chains, draws, D)"),
        ("words", {}, "an array (chains, draws, D)"),
        ({}, {}, "at least one set of chains"),
        ({"small": GOOD}, {}, "`batch size` must be a whole number, or 'full'; got 'small'"),
        ({0: GOOD}, {}, "`batch size` must be a whole number of at least 1"),
        ({4: GOOD, "b4": GOOD}, {}, "one set of chains a batch size"),
        ({4: GOOD, 8: GOOD[..., :1]}, {}, "one dimension for all batch sizes"),
        ({4: GOOD, None: GOOD}, {"full_batch": GOOD}, "`full_batch` must be left out"),
        (GOOD, {"step": 0}, "`step` must be"),
        (GOOD, {"noise": -1}, "`noise` must be"),
        (GOOD, {"thin": 0}, "`thin` must be"),
        (GOOD, {"burn_in": 1.0}, "`burn_in` must be a share"),
        (GOOD, {"parts": 4}, "`parts` must be a whole number of at least 8"),
    ],
)
def test_what_cannot_be_diagnosed_is_one_sentence(chains, options, words):
    with pytest.raises(uidd.InputError) as told:
        uidd.diagnose_sampler(chains, **{"step": 0.1, **options})
    assert words in str(told.value) and "\n" not in str(told.value)


def test_burn_in_leaves_out_the_start():
    chains = Chains.of(GOOD)
    np.testing.assert_array_equal(chains.without_start(0.25).states, GOOD[:, 50:])


def varying(circulation: float, seed: int = 0):
    """Noise and currents that are no polynomials, between two wells: 24 paths of 40 time units."""
    data = VaryingNoise(circulation).simulate(24, 4001, 0.01, seed=seed).transitions()
    return np.asarray(data.start).reshape(24, 4000, 2)


@pytest.mark.slow
def test_noise_that_no_polynomial_follows_is_no_false_alarm():
    """V is off here, by more than the square of the current can bear; its gradient does no work."""
    (batch,) = uidd.diagnose_sampler(varying(0.0), step=0.01, noise=None).batches
    assert not batch.broken and abs(batch.rate.rate) < 5 * batch.rate.standard_error


@pytest.mark.slow
def test_a_current_in_such_noise_is_found():
    """Within a third of its rate, or with the note that says so."""
    (batch,) = uidd.diagnose_sampler(varying(0.2), step=0.01, noise=None).batches
    exact = VaryingNoise(0.2).entropy_production_rate
    assert batch.broken and batch.rate.rate > exact / 2
    assert abs(batch.rate.rate / exact - 1) < 1 / 3 or batch.result.code == "not_resolved"
