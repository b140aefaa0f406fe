"""The matrix `relat4`: four-term relations between graphs on four vertices."""

from itertools import combinations, permutations

import numpy as np


def four_term_relations(vertices: int = 4) -> np.ndarray:
    """One row for every class of isomorphic graphs and every ordered pair of adjacent vertices A, B.

    A row holds G - G' - G~ + G~': G' is G without the edge AB, and G~ is G with the edge AC toggled for every
    other neighbour C of B. Columns count classes of graphs; an empty one stands before them. For four
    vertices this is `relat4` of the SuiteSparse collection (JGD_Relat) up to the order of rows and columns
    and a sign: 66 x 12, 172 entries, norm 8.503794, rank 5.

    >>> four_term_relations().shape
    (66, 12)
    """
    edges = list(combinations(range(vertices), 2))
    relabelled = [
        [edges.index((min(p[a], p[b]), max(p[a], p[b]))) for a, b in edges]
        for p in permutations(range(vertices))
    ]

    def smallest(graph: int) -> int:
        """The same number for all graphs of a class: the least over all labellings."""
        return min(sum(1 << to for k, to in enumerate(p) if graph >> k & 1) for p in relabelled)

    def edge(a: int, b: int) -> int:
        return 1 << edges.index((min(a, b), max(a, b)))

    classes = sorted({smallest(graph) for graph in range(1 << len(edges))})
    column = {graph: 1 + k for k, graph in enumerate(classes)}
    rows = []
    for graph in classes:
        for a, b in permutations(range(vertices), 2):
            if not graph & edge(a, b):
                continue
            toggled = graph
            for c in set(range(vertices)) - {a, b}:
                if graph & edge(b, c):
                    toggled ^= edge(a, c)
            row = np.zeros(len(classes) + 1)
            for sign, each in (
                (1, graph),
                (-1, graph ^ edge(a, b)),
                (-1, toggled),
                (1, toggled ^ edge(a, b)),
            ):
                row[column[smallest(each)]] += sign
            rows.append(row)
    return np.stack(rows)
