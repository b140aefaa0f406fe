"""Save and load a model."""

import os
from dataclasses import asdict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .._checks import InputError
from ..data import Scaling
from .architecture import Architecture
from .container import Container
from .model import Model


def save_model(
    model: Model, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None
) -> None:
    """Write the model: its specification, scaling and provenance as text, its weights as arrays."""
    Container("model", {**describe(model), "provenance": provenance or {}}, weights(model)).write(str(path))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save_model` wrote."""
    container = Container.read(str(path), "model")
    return restore(container.header, container.arrays, str(path))


def load_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the model file says of its origin: versions, device, seed, command."""
    return Container.read(str(path), "model").header.get("provenance", {})


def describe(model: Model) -> dict[str, Any]:
    """Everything of a model that is not a weight, as plain words and numbers."""
    return {
        "architecture": model.architecture.to_dict(),
        "direction": model.unit.direction,
        "scaling": asdict(model.scaling),
        "anchors": [list(a) for a in model.anchors],
        "coordinates": list(model.coordinates),
        "units": list(model.units),
        "time_unit": model.time_unit,
    }


def weights(tree: PyTree) -> list[np.ndarray]:
    """The array leaves, in the order of the tree."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def with_weights(skeleton: PyTree, arrays: list[np.ndarray], path: str) -> PyTree:
    """`skeleton` with its array leaves (or their shapes) replaced by `arrays`."""
    leaves, structure = jax.tree.flatten(skeleton)
    slots = [
        i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.ShapeDtypeStruct) or eqx.is_array(leaf)
    ]
    expected = [(leaves[i].shape, np.dtype(leaves[i].dtype).kind) for i in slots]
    if expected != [(a.shape, a.dtype.kind) for a in arrays]:
        raise InputError(f"The arrays in '{path}' do not fit the specification in its header.")
    for i, array in zip(slots, arrays, strict=True):
        leaves[i] = jnp.asarray(array)
    return jax.tree.unflatten(structure, leaves)


def restore(header: dict[str, Any], arrays: list[np.ndarray], path: str) -> Model:
    """The model that `describe` and `weights` wrote down."""
    try:
        scaling = Scaling(
            tuple(map(float, header["scaling"]["center"])),
            tuple(map(float, header["scaling"]["scale"])),
            float(header["scaling"]["time"]),
        )
        architecture = Architecture.from_dict(header["architecture"])
        skeleton = Model(
            unit=eqx.filter_eval_shape(
                lambda key: architecture.build(len(scaling.scale), key=key), jax.random.key(0)
            ),
            architecture=architecture,
            scaling=scaling,
            anchors=tuple(tuple(map(float, a)) for a in header["anchors"]),
            coordinates=tuple(header["coordinates"]),
            units=tuple(header["units"]),
            time_unit=str(header["time_unit"]),
        )
        model = with_weights(skeleton, arrays, path)
        return model if int(header["direction"]) == 1 else model.time_reversed()
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The header of '{path}' is incomplete ({error!r}).") from error
