"""Autocorrelation times of AR(1) chains, z' = a z + noise: (1 + a) / (1 - a)."""

import numpy as np

from uidd.diagnosis.stationarity import autocorrelation_times, moves_on


def _chains(a: float, seed: int, chains: int = 8, draws: int = 4000) -> np.ndarray:
    generator = np.random.default_rng(seed)
    z, found = generator.standard_normal(chains), []
    for _ in range(draws):
        found.append(z)
        z = a * z + (1 - a**2) ** 0.5 * generator.standard_normal(chains)
    return np.stack(found, axis=1)[..., None]


def test_the_autocorrelation_time_of_a_linear_chain():
    for a in (0.0, 0.5, 0.9):
        exact = (1 + a) / (1 - a)
        # Relative error sqrt(2 (2 W + 1) / N) with a window W of five times (Sokal 1989).
        error = exact * np.sqrt(2 * (10 * exact + 1) / 32000)
        assert abs(autocorrelation_times(_chains(a, 0))[0] - exact) < 5 * error


def test_stationary_chains_do_not_move_on_and_others_do():
    assert sum(moves_on(_chains(0.9, seed)) for seed in range(20)) <= 1
    drifting = _chains(0.9, 0) + np.linspace(0, 1, 4000)[:, None]
    widening = _chains(0.9, 0) * np.linspace(1, 1.5, 4000)[:, None]
    assert moves_on(drifting) and moves_on(widening)
