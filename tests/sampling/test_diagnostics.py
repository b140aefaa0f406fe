"""R-hat and effective size against autoregressive chains, whose correlation is known, and BlackJAX."""

import blackjax
import jax.numpy as jnp
import numpy as np

from uidd.sampling.diagnostics import effective_sample_size, r_hat


def autoregressive(a, chains, draws):
    """x' = a x + sqrt(1 - a^2) noise: unit variance, rho_t = a^t, effective share (1 - a) / (1 + a)."""
    noise = np.random.default_rng(0).standard_normal((draws, chains, 1))
    path = [noise[0]]
    for e in noise[1:]:
        path.append(a * path[-1] + np.sqrt(1 - a**2) * e)
    return np.stack(path, axis=1)


def test_the_effective_size_is_that_of_a_known_process():
    """sum rho_t over 16 chains of 2000 draws is known to a few per cent."""
    for a in (0.0, 0.5, 0.8):
        share = effective_sample_size(autoregressive(a, 16, 2000))[0] / 32_000
        assert abs(share * (1 + a) / (1 - a) - 1) < 0.1


def test_both_numbers_are_those_of_blackjax():
    chains = np.concatenate([autoregressive(0.6, 4, 101), autoregressive(0.1, 4, 101)], axis=2)
    chains[0] += 0.5
    known = blackjax.diagnostics
    np.testing.assert_allclose(r_hat(chains), known.potential_scale_reduction(jnp.asarray(chains)), rtol=1e-4)
    np.testing.assert_allclose(
        effective_sample_size(chains), known.effective_sample_size(jnp.asarray(chains)), rtol=1e-3
    )


def test_constant_chains_agree_only_when_they_are_the_same():
    same, different = np.zeros((4, 10, 1)), np.arange(4.0)[:, None, None] + np.zeros((4, 10, 1))
    assert r_hat(same) == 1 and r_hat(different) == np.inf
