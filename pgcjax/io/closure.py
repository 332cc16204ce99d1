"""Transitive closure of preferences."""

import numpy as np
from jaxtyping import Bool

Relation = Bool[np.ndarray, "documents documents"]
"""Whether each document, by row, is preferred to (or tied with) each by column."""


def transitive_closure(relation: Relation) -> Relation:
    """Return whether a chain of one step or more leads from the row to the column.

    This is Warshall's algorithm; the argument is not changed.
    """
    reached = relation.copy()
    for middle in range(len(reached)):
        reached[reached[:, middle]] |= reached[middle]
    return reached
