"""Weights of judgments: whole numbers or, in fixed point, fractions.

Fractions are whole multiples of 1 / `UNIT`, so their sums are exact in any order.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int64

from pgcjax.errors import DataError
from pgcjax.later import pd

UNIT = 2**16
"""Weight of one judgment in fixed point."""

FINE = 2**30
"""Weight of one judgment in fixed point, for numbers with more printed digits."""

SOFT = ("margin", "both", "sign")
"""Meanings of a probability of preference: the lead of the likelier document; a part of
a judgment for each of the two documents; or only its side."""


class SideWeights(NamedTuple):
    """Weights of rows for their document, and for the other one.

    Attributes:
        doc: Weights for the document, whole numbers.
        other: Weights for the other document, whole numbers.
        unit: Weight of one judgment: 1 if all are whole, else the requested one.
    """

    doc: Int64[np.ndarray, " rows"]
    other: Int64[np.ndarray, " rows"]
    unit: int


def whole_weights(preferences: "pd.DataFrame", noun: str) -> Int64[np.ndarray, " rows"]:
    """Return the weights of judgments, which have to be whole numbers.

    Args:
        preferences: Canonical preferences.
        noun: Name of the method that counts judgments, for the message.

    Raises:
        DataError: a weight is a fraction.
    """
    weight = weights_of(preferences)
    if (odd := weight % 1 != 0).any():
        raise DataError(
            f"expected whole numbers as weights, found {weight[odd.argmax()]:g}: "
            f"{noun} counts judgments",
            where="preferences",
            mend="Fractions are for PGC and ExactPGC: round them (and let --flips be "
            "keep, tie or drop).",
        )
    return weight.astype(np.int64)


def by_sides(
    preference: Float[np.ndarray, " rows"],
    weight: Float[np.ndarray, " rows"],
    probability: Float[np.ndarray, " rows"],
    soft: str,
    unit: int = UNIT,
) -> SideWeights:
    """Compute the weight of each row for either document; a tie counts for none.

    A row without a probability (NaN) counts for the side that it prefers. If p is the
    probability that the document is better, `margin` counts 2p - 1 for the document or
    1 - 2p for the other, `both` counts p for the document and 1 - p for the other
    (nothing at 1/2, which is a tie), and `sign` uses only the preference.

    Args:
        preference: Above 0 for the document, below 0 for the other.
        weight: Number of judgments in each row.
        probability: Probability from 0 to 1, or NaN.
        soft: One of `SOFT`.
        unit: Weight of one judgment, if not all are whole.
    """
    hard = np.isnan(probability) | (soft == "sign")
    p = np.where(hard, 0.5 + np.sign(preference) / 2, probability)
    if (weight % 1 == 0).all() and np.isin(p, (0, 0.5, 1)).all():
        count = weight.astype(np.int64)
        return SideWeights(count * (p == 1), count * (p == 0), 1)
    # The larger side is rounded, so the order of the documents does not matter.
    won, lost = in_parts(weight, np.maximum(p, 1 - p), soft, unit)
    upright = p > 0.5
    return SideWeights(np.where(upright, won, lost), np.where(upright, lost, won), unit)


def in_parts(
    weight: Float[np.ndarray, "*n rows"],
    most: Float[np.ndarray, " rows"],
    soft: str,
    unit: int = UNIT,
) -> tuple[Int64[np.ndarray, "*n rows"], Int64[np.ndarray, "*n rows"]]:
    """Compute the weights of rows for the likelier document, and for the other one.

    Args:
        weight: Number of judgments in each row.
        most: Probability that the likelier document is better, from 1/2, a tie, to 1.
        soft: `margin` or `both`.
        unit: Weight of one judgment.

    Returns:
        Whole multiples of 1 / `unit`, times `unit`.
    """
    if soft == "margin":
        won = np.rint(weight * (2 * most - 1) * unit).astype(np.int64)
        lost = np.zeros_like(won)
    else:
        won = np.rint(weight * most * unit).astype(np.int64)
        lost = np.rint(weight * unit).astype(np.int64) - won
    tied = most == 0.5
    return np.where(tied, 0, won), np.where(tied, 0, lost)


def weights_of(preferences: "pd.DataFrame") -> Float[np.ndarray, " rows"]:
    """Return the number of judgments in each row; 1 by default."""
    if "weight" not in preferences:
        return np.ones(len(preferences))
    return preferences["weight"].fillna(1.0).to_numpy(np.float64)
