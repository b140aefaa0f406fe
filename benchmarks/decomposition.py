"""How well does the theorem's construction put a known system together again, and where does it not?

`decompose` is given drift, diffusion and stationary density of systems whose split is known. Printed are the
relative errors, root mean squares over states, of f_irr = f - f_rev, and of the drift put together from V, M
and the tridiagonal W that the quadrature found. Then the price of the tridiagonal form: along a ray out of
the bulk rho H_1 tends to the net flux through the line, so that H_1 grows like 1 / rho.

    python benchmarks/decomposition.py --nodes 64
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import uidd
from uidd.dynamics import AbstractDynamics, ClosedFormDynamics
from uidd.systems import Beads, DrivenWells, Linear
from uidd.systems.driven_wells import stationary_states

STATES = 200


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--nodes", type=int, default=64)
    nodes = parser.parse_args().nodes
    generator = np.random.default_rng(0)
    with jax.enable_x64(True):
        wells = stationary_states(generator, STATES)
        put_together("DrivenWells()", DrivenWells().dynamics, wells, nodes)
        varying = ClosedFormDynamics(potential, diffusion, circulation)
        put_together("sigma and W that vary, D = 3", varying, generator.normal(0, 0.8, (STATES, 3)), nodes)
        for system in (Linear(1.0), Beads(3)):
            states = generator.multivariate_normal(np.zeros(len(system.stiffness)), system.covariance, STATES)
            put_together(str(system), system.dynamics, states, nodes)
        along_a_ray("a rotation in the (z1, z3) plane, (0.3, y, 0.5)", rotation(), (0.3, 0.5), nodes)
        along_a_ray("DrivenWells(), (1, y, 1)", DrivenWells().dynamics, (1.0, 1.0), nodes)


def taken_apart(known: AbstractDynamics, scale: np.ndarray | float, nodes: int) -> AbstractDynamics:
    return uidd.decompose(
        known.drift, known.diffusion, lambda z: -known.potential(z), scale=scale, nodes=nodes
    )


def put_together(name: str, known: AbstractDynamics, states: np.ndarray, nodes: int) -> None:
    """Errors over the states."""
    split, z = taken_apart(known, states.std(axis=0), nodes), jnp.asarray(states)
    begun = time.monotonic()
    f, f_irr = (np.asarray(jax.vmap(part)(z)) for part in (known.drift, known.irreversible_drift))
    again = np.asarray(jax.jit(lambda z: jax.lax.map(split.drift, z))(z))
    directly = np.asarray(jax.vmap(split.irreversible_drift)(z))
    line = (
        f"{name}: f_irr {error(directly, f_irr):.1e}, drift from the tridiagonal W {error(again, f):.1e} "
        f"(half of the states below {np.median(each(again, f)):.1e})"
    )
    if len(states[0]) == 2:  # W is unique
        W = np.asarray(jax.vmap(split.circulation)(z))
        line += f", W itself {error(W, np.asarray(jax.vmap(known.circulation)(z))):.1e}"
    print(f"{line}; {time.monotonic() - begun:.0f} s", flush=True)


def along_a_ray(name: str, known: AbstractDynamics, beside: tuple[float, float], nodes: int) -> None:
    """H_1, V and rho H_1 along z_2, V and log rho counted from z_2 = 0; then the flux through the line."""
    split = taken_apart(known, 1.0, nodes)

    def state(y):
        return jnp.asarray([beside[0], y, beside[1]])

    base = float(known.potential(state(0.0)))
    print(f"{name}:")
    for y in range(7):
        V, H = float(known.potential(state(y))) - base, float(split.circulation(state(y))[0, 1])
        print(f"  y = {y}: V {V:6.2f}, H_1 {H:11.4e}, rho H_1 {np.exp(-V) * H:9.5f}", flush=True)
    line = jnp.linspace(-15, 15, 6001)
    rho = jnp.exp(base - jax.vmap(lambda y: known.potential(state(y)))(line))
    speed = jax.vmap(lambda y: known.irreversible_drift(state(y))[0])(line)
    print(f"  the flux: {jnp.trapezoid(rho * speed, line):.5f}", flush=True)


def error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(((found - true) ** 2).sum() / (true**2).sum()))


def each(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """|found - true| of every state, over the root mean square of the true."""
    size = np.sqrt((true**2).sum(axis=1).mean())
    return np.linalg.norm(found - true, axis=1) / size


def rotation() -> ClosedFormDynamics:
    R = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    return ClosedFormDynamics(
        lambda z: z @ z / 2, lambda z: 2**0.5 * jnp.eye(3), lambda z: jnp.asarray(R, z.dtype)
    )


def potential(z):
    return z @ z / 2 + z[0] ** 4 / 8 + z[1] * z[2] / 3 + 0.2 * jnp.sin(z[0]) * z[1]


def diffusion(z):
    return jnp.diag(1 + 0.3 * jnp.tanh(jnp.roll(z, 1)))


def circulation(z):
    a, b, c = 0.5 + 0.3 * z[2], 0.2 * z[0], 0.4 * jnp.cos(z[1])
    return jnp.array([[0.0, a, b], [-a, 0.0, c], [-b, -c, 0.0]])


if __name__ == "__main__":
    main()
