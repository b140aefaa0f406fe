"""How fast is one training step: loss, gradient and Adam update, in single precision?

Ours is the package's compiled epoch. Beside it, in the same run and from the same weights, stands a plain
implementation of the paper's formulas: M and W as functions, their divergences by the full Jacobian, grad V
by automatic differentiation, and a Gaussian density with a Cholesky factor of every covariance. Before
anything is timed, both must give the same loss and the same gradient.

    python benchmarks/train_step.py --seconds 1
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from uidd.components import ConstantDiffusion
from uidd.likelihood import EulerMaruyama
from uidd.models import Architecture
from uidd.training import Plan
from uidd.training.objectives import LikelihoodObjective
from uidd.training.solvers.adam import Adam, Examples

ROUNDS = 5
DT = 0.01


@dataclass(frozen=True)
class Setting:
    """One of the paper's problems. `reference` is its code's pairs a second on another two-core CPU."""

    name: str
    dimension: int
    batch: int
    architecture: str
    reference: float
    steps: int


SETTINGS = (
    Setting("linear", 2, 50_000, "linear", 50_000 / 0.44, 2),
    Setting("polymer", 3, 3_500, "polymer", 3_500 / 0.095, 10),
    Setting("ICA", 4, 2_048, "sgld", 6.8e3, 10),
    Setting("least squares", 12, 2_048, "sgld", 2.0e3, 5),
)


def plain_weights(dynamics) -> dict:
    """The package's arrays, or a gradient of the same structure, as plain lists of (out, in) matrices."""

    def layers(network):
        return [(A.T, a) for A, a in (*network.hidden, network.readout)]

    V, sigma, W = dynamics.potential_component, dynamics.diffusion_component, dynamics.circulation_component
    constant = isinstance(sigma, ConstantDiffusion)
    strict = sigma.strict if constant or sigma.strict is None else layers(sigma.strict)
    return {
        "U": layers(V.network),
        "g": V.slopes,
        "strict": strict,
        "diagonal": sigma.diagonal if constant else layers(sigma.diagonal),
        "H": layers(W.network),
    }


def plain_loss(architecture: Architecture, dimension: int, jacobian: Callable) -> Callable:
    """-(mean log-density) as the paper writes it, every derivative by automatic differentiation."""
    spec = architecture.potential
    activations = {
        "tanh": jnp.tanh,
        "recu": lambda x: jnp.where(x < 0, 0.0, jnp.where(x < 1, x**3 / 3, x - 2 / 3)),
        "shifted_requ": lambda x: jax.nn.relu(x) ** 2 - jax.nn.relu(x - 0.5) ** 2,
    }

    def network(layers, x, phi):
        for A, a in layers[:-1]:
            x = activations[phi](A @ x + a)
        A, a = layers[-1]
        return A @ x + a

    def potential(w, z):
        u = network(w["U"], z, spec.activation) + spec.b2 * w["g"] @ z
        return spec.b1 / 2 * jnp.sum(u**2) + spec.b3 * jnp.sum(z**2)

    def diffusion(w, z):
        def value(weights):
            constant = not isinstance(weights, list)
            return weights if constant else network(weights, z, architecture.diffusion.activation)

        s2 = value(w["diagonal"])
        sigma = jnp.diag((jnp.sqrt(s2**2 + 1) + s2) / 2)
        if w["strict"] is None:
            return sigma
        return sigma.at[jnp.tril_indices(dimension, -1)].set(value(w["strict"]))

    def dissipation(w, z):
        sigma = diffusion(w, z)
        return sigma @ sigma.T / 2

    def circulation(w, z):
        H = jnp.diag(network(w["H"], z, architecture.circulation.activation), 1)
        return H - H.T

    def divergence(field, w, z):
        return jnp.einsum("ijj->i", jacobian(field, argnums=1)(w, z))

    def log_density(w, z, increment, dt):
        M, W, dV = dissipation(w, z), circulation(w, z), jax.grad(potential, argnums=1)(w, z)
        drift = -(M + W) @ dV + divergence(dissipation, w, z) + divergence(circulation, w, z)
        sigma = diffusion(w, z)
        factor = jnp.linalg.cholesky(dt * sigma @ sigma.T)
        noise = jax.scipy.linalg.solve_triangular(factor, increment - drift * dt, lower=True)
        log_determinant = 2 * jnp.sum(jnp.log(jnp.diag(factor)))
        return -(jnp.sum(noise**2) + log_determinant + dimension * jnp.log(2 * jnp.pi)) / 2

    def loss(w, pairs):
        return -jnp.mean(jax.vmap(log_density, in_axes=(None, 0, 0, 0))(w, *pairs))

    return loss


def check_equal(dynamics, loss: Callable, pairs: Examples) -> None:
    """Both implementations give the same loss and the same gradient."""

    def mean_loss(dynamics, pairs):
        return jnp.mean(
            jax.vmap(lambda *pair: LikelihoodObjective(EulerMaruyama()).loss(dynamics, *pair))(*pairs)
        )

    value, gradient = eqx.filter_jit(eqx.filter_value_and_grad(mean_loss))(dynamics, pairs)
    plain_value, plain_gradient = jax.jit(jax.value_and_grad(loss))(plain_weights(dynamics), pairs)
    np.testing.assert_allclose(value, plain_value, rtol=1e-5)
    gradient = plain_weights(gradient)
    difference = jax.tree.map(jnp.subtract, gradient, plain_gradient)
    ratio = optax.global_norm(difference) / optax.global_norm(plain_gradient)
    np.testing.assert_array_less(ratio, 1e-4)


def random_pairs(setting: Setting) -> Examples:
    """Four batches of transitions with the spread and the noise of scaled data, on the host."""
    rng = np.random.default_rng(0)
    shape = (4 * setting.batch, setting.dimension)
    start, noise = rng.standard_normal((2, *shape), np.float32)
    return Examples(start, noise * np.float32(DT**0.5), np.full(shape[0], DT, np.float32))


def our_steps(setting: Setting, dynamics, pairs: Examples) -> Iterator[int]:
    """Runs one compiled epoch at a time; yields how many pairs it took."""
    weights, frozen = eqx.partition(dynamics, eqx.is_array)
    plan = Plan(batch=setting.batch, steps_per_epoch=setting.steps)
    adam = Adam(LikelihoodObjective(EulerMaruyama()), plan)
    state, device = adam.begin(weights), Examples.of(pairs)
    key = jax.random.key(0)
    while True:
        key, epoch_key = jax.random.split(key)
        state, losses = adam.epoch(frozen, state, device, epoch_key)
        losses.block_until_ready()
        yield setting.steps * setting.batch


def plain_steps(setting: Setting, dynamics, loss: Callable, pairs: Examples) -> Iterator[int]:
    """Runs one compiled step at a time on a batch sliced from the host's arrays."""
    optimiser = optax.adam(1e-3)

    @jax.jit
    def step(weights, state, batch):
        value, gradient = jax.value_and_grad(loss)(weights, batch)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(weights, updates), state, value

    weights = plain_weights(dynamics)
    state = optimiser.init(weights)
    while True:
        for first in range(0, len(pairs.dt), setting.batch):
            batch = Examples(*(part[first : first + setting.batch] for part in pairs))
            weights, state, value = step(weights, state, batch)
            value.block_until_ready()
            yield setting.batch


def rate(steps: Iterator[int], seconds: float) -> float:
    """Pairs a second over at least `seconds`."""
    begun, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - begun) < seconds:
        count += next(steps)
    return count / passed


def measure(setting: Setting, seconds: float) -> np.ndarray:
    """Rates of ours and the two plain forms, the best of interleaved rounds: others share the machine."""
    architecture = Architecture.named(setting.architecture)
    dynamics = architecture.build(setting.dimension, key=jax.random.key(1))
    pairs = random_pairs(setting)
    runs = [our_steps(setting, dynamics, pairs)]
    for jacobian in (jax.jacfwd, jax.jacrev):
        loss = plain_loss(architecture, setting.dimension, jacobian)
        check_equal(dynamics, loss, Examples(*(part[:1000] for part in pairs)))
        runs.append(plain_steps(setting, dynamics, loss, pairs))
    for run in runs:
        next(run)  # compile
    return np.array([[rate(run, seconds) for run in runs] for _ in range(ROUNDS)]).max(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="per measurement (default 1)")
    parser.add_argument("--only", nargs="*", default=[], help="settings to run (default all)")
    options = parser.parse_args()
    columns = f"{'ours':>11}{'plain, fwd':>12}{'ratio':>7}{'plain, rev':>12}{'ratio':>7}{'paper *':>11}"
    print(f"{'setting':14}{'D':>3}{'batch':>8}{columns}   pairs/s")
    for s in SETTINGS:
        if options.only and s.name not in options.only:
            continue
        ours, forward, reverse = measure(s, options.seconds)
        numbers = (
            f"{ours:11,.0f}{forward:12,.0f}{ours / forward:7.1f}"
            f"{reverse:12,.0f}{ours / reverse:7.1f}{s.reference:11,.0f}"
        )
        print(f"{s.name:14}{s.dimension:3}{s.batch:8,}{numbers}", flush=True)
    print("plain: full Jacobians of M and W by jax.jacfwd (fwd) or jax.jacobian, which is reverse mode (rev)")
    print("* the authors' code, measured on another two-core machine")


if __name__ == "__main__":
    main()
