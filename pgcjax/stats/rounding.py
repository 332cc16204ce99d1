"""Bounds of rounding: scores that are equal in theory may differ in their last bits."""

from fractions import Fraction

import numpy as np
from jaxtyping import Float

NOISE = 1e-12
"""Largest difference, relative to the scores, that counts as rounding."""


def exact(level: float) -> Fraction:
    """Return the exact decimal of a level or share as written: .29 is 29/100.

    A product of floats can miss a whole number: 100 * .29 is below 29.
    """
    return Fraction(str(float(level)))


def slack(
    a: Float[np.ndarray, "..."], b: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return the largest difference of two scores that is due to rounding."""
    return NOISE * np.maximum(np.abs(a), np.abs(b))
