"""The same data in other units give the same physics."""

import jax
import numpy as np

from uidd.data import Trajectories
from uidd.thermodynamics import local_entropy_production
from uidd.training import fit


def in_units(data, unit, offset, time):
    return Trajectories.from_arrays(
        [s * unit + offset for s in data.states], times=[t * time for t in data.times]
    )


def physics(model, z):
    def at(z):
        return model.potential_gradient(z), model.drift(z), local_entropy_production(model, z)

    return [np.asarray(value) for value in jax.jit(jax.vmap(at))(z)]


def test_data_in_other_units_give_the_same_physics(data, settings, fitted):
    """z -> 1000 z + c and t -> t / 1000: grad V / 1000, f x 1e6, entropy production x 1000.

    The unit-size data differ in the last digits only, 1e-13; single precision sees the same numbers but
    where a rounding falls the other way, and 200 steps of Adam carry that to the third digit at most.
    """
    unit, offset, time = 1e3, np.array([4e3, -7e3]), 1e-3
    other = fit(in_units(data, unit, offset, time), **settings)
    z = np.random.default_rng(0).standard_normal((50, 2)) * 0.3
    dV, f, s = physics(fitted.model, z)
    dV_other, f_other, s_other = physics(other.model, z * unit + offset)
    for value, truth in [(dV_other * unit, dV), (f_other * time / unit, f), (s_other * time, s)]:
        np.testing.assert_allclose(value, truth, rtol=1e-3, atol=1e-3 * np.abs(truth).max())
    assert other.result.code == fitted.result.code
