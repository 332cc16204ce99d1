"""Probabilities in tables of votes: that the first of two documents is better."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgcjax.io.schema import Origin, lenient_numbers, numbers_or_nan, refuse
from pgcjax.later import pd

_NEAR = 1e-3  # of 1, for sums of probabilities that were rounded


def probability(
    cells: Mapping[str, pd.Series], of: Mapping[str, str], sign: np.ndarray, at: Origin
) -> np.ndarray | None:
    """Give the probability that the first document is better, a tie being half.

    Raises:
        DataError: probabilities do not add up to 1, or say another winner than the row.
    """
    roles = ("p_a", "p_tie", "p_b", "probability", "confidence")
    given = {r: lenient_numbers(cells[r]) for r in roles if r in cells}
    if not given:
        return None
    for role, values in given.items():
        column = cells[role].tolist()
        refuse(
            ~((values >= 0) & (values <= 1)),
            lambda i, r=role, c=column: (
                f"expected a probability from 0 to 1 as {of[r]}, found {c[i]!r}"
            ),
            at,
            "Mend it, or name another column (--columns).",
        )
    if "p_b" in given and "p_a" in given:
        total = sum(given[r] for r in ("p_a", "p_tie", "p_b") if r in given)
        refuse(
            np.abs(total - 1) > _NEAR,
            lambda i: (
                "expected probabilities that add up to 1, found "
                + " + ".join(f"{given[r][i]:g}" for r in roles if r in given)
            ),
            at,
            "If ties have one, name its column p_tie.",
        )
        p = np.clip(0.5 + (given["p_a"] - given["p_b"]) / 2, 0, 1)
    elif "p_a" in given:
        p = given["p_a"] + given.get("p_tie", 0.0) / 2
    elif "probability" in given:
        p = given["probability"]
    elif "confidence" in given:
        p = 0.5 + np.clip(np.nan_to_num(sign, posinf=0), -1, 1) * (
            given["confidence"] - 0.5
        )
    else:
        return None
    clash = np.isfinite(sign) & (np.sign(p - 0.5) * np.sign(sign) < 0)
    refuse(
        clash,
        lambda i: (
            f"the row says who won, but the probability {p[i]:g} of the first says "
            "that the other did"
        ),
        at,
        f"If it is that the winner is better, say --columns confidence="
        f"{of[[r for r in roles if r in given][0]]}; else name one of the two "
        "(columns= in Python).",
    )
    return p


def check_probability(table: pd.DataFrame, origin: Origin) -> None:
    """Read probabilities, NaN where there is none, and refuse another winner's."""
    expected, mend = "a probability from 0 to 1", "Leave one that is not known empty."
    p = numbers_or_nan(table["probability"], expected, origin, mend, least=0)
    refuse(p > 1, lambda i: f"expected {expected}, found {p[i]:g}", origin, mend)
    table["probability"] = p
    sign = np.sign(table["preference"].to_numpy())
    refuse(
        ~np.isnan(p) & (np.sign(p - 0.5) * sign < 0),
        lambda i: (
            f"preference is {table.preference[i]:g}, but probability {p[i]:g}: of the "
            "two, it says that the other one wins"
        ),
        origin,
        "probability is that doc_id is better than other_doc_id.",
    )
