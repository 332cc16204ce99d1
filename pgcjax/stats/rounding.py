"""Rounding: scores that are equal on paper differ in their last bits."""

from fractions import Fraction

import numpy as np
from jaxtyping import Float

NOISE = 1e-12
"""Differences up to here, relative to the scores, are rounding."""


def exact(level: float) -> Fraction:
    """Take a level or share for the decimal that it is written as: .29 is 29/100.

    A product of floats can miss a whole number: 100 * .29 is below 29.
    """
    return Fraction(str(float(level)))


def slack(
    a: Float[np.ndarray, "..."], b: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Bound what rounding alone can put between two scores, element by element."""
    return NOISE * np.maximum(np.abs(a), np.abs(b))
