"""Features of the state: products, steps and cells, in which a misfit of drift or noise may show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ...components import Network
from .clusters import cell_centers, nearest
from .independent_components import independent_components

# Whitened states are themselves within so many standard deviations, and bounded beyond.
REACH = 4.0
# Features of all products up to third degree where they are no more than these.
MOST_PRODUCTS = 500
# Features of states in cells.
IN_CELLS = 144


def whitener(states: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """To zero mean and unit covariance of these states, along the directions that are least Gaussian."""
    mean = states.mean(axis=0)
    if states.shape[1] == 1:
        return lambda z: (z - mean) / states.std(axis=0)
    A = independent_components(states[:: -(-len(states) // 20_000)])
    return lambda z: (z - mean) @ A


def whitened_states(states: np.ndarray) -> np.ndarray:
    """The states themselves, whitened."""
    return whitener(states)(states)


def bounded(u: np.ndarray) -> np.ndarray:
    """As it is within `REACH`, and at most one more beyond."""
    inside = np.clip(u, -REACH, REACH)
    return inside + np.tanh(u - inside)


def products(u: np.ndarray) -> np.ndarray:
    """Of second and third degree; of many dimensions cubes alone."""
    dimension = u.shape[1]
    degrees = (2, 3) if comb(dimension + 3, 3) <= MOST_PRODUCTS else (2,)
    terms = [
        np.prod(u[:, list(place)], axis=1)
        for degree in degrees
        for place in combinations_with_replacement(range(dimension), degree)
    ]
    if degrees == (2,):
        terms += list((u**3).T)
    return np.stack(terms, axis=1)


def steps(u: np.ndarray, scale: float, width: int) -> np.ndarray:
    """Across the data."""
    A, a = Network.steps(u.shape[1], width, (scale,), dense=True)
    return np.tanh(u @ A + a)


def in_cells(u: np.ndarray, known: np.ndarray) -> np.ndarray:
    """One, and the place, in each of some cells: what is so in one well and in no other.

    The cells lie where known states do (k-means), so they are as fine as a well is narrow, however far apart
    wells are. Steps and products that are laid out over all states see nothing of that.
    """
    centers = cell_centers(known, IN_CELLS // (u.shape[1] + 1))
    cell = nearest(u, centers)
    places = np.concatenate([np.ones((len(u), 1)), u - centers[cell]], axis=1)
    found = np.zeros((len(u), len(centers), places.shape[1]))
    found[np.arange(len(u)), cell] = places
    return found.reshape(len(u), -1)


# Of states, laid out over states that are known.
FEATURES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "products": lambda u, known: products(u),
    "broad steps": lambda u, known: steps(u, 1.0, 48),
    "fine steps": lambda u, known: steps(u, 3.0, 144),
    "cells": in_cells,
}


@dataclass(frozen=True)
class Features:
    """One kind of features of some states.

    Attributes:
        name: Of the kind.
        states: Whitened.
    """

    name: str
    states: np.ndarray

    @cached_property
    def values(self) -> np.ndarray:
        """Laid out over all states."""
        u = bounded(self.states)
        return FEATURES[self.name](u, u)

    def laid_out(self, known: int, last: int) -> np.ndarray:
        """The first states themselves and their features, laid out over those that are known."""
        z = self.states[:last]
        found = self.values[:last] if self.name != "cells" else in_cells(bounded(z), bounded(z[:known]))
        return np.concatenate([z, found], axis=1)


def features(start: np.ndarray) -> Iterator[Features]:
    """All kinds, one after the other."""
    z = whitened_states(start)
    return (Features(name, z) for name in FEATURES)
