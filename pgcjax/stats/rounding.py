"""Rounding: scores that are equal on paper differ in their last bits."""

import numpy as np
from jaxtyping import Float

NOISE = 1e-12
"""Differences up to here, relative to the scores, are rounding."""


def slack(
    a: Float[np.ndarray, "..."], b: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Bound what rounding alone can put between two scores, element by element."""
    return NOISE * np.maximum(np.abs(a), np.abs(b))
