"""What columns beside the answers say of who won: signs, outcomes, flags of ties."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.schema import Origin, ids, refuse
from pgcjax.io.votes.layouts import WON
from pgcjax.io.votes.words import NEUTRAL, TIE, guess_answers, normal, plain
from pgcjax.later import pd

TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0, "": 0.0}
_WINS = {*("win", "won", "wins", "winner", "w")}
_TELL = "(columns= and answers= in Python)."


def check_signs(sign: np.ndarray, name: str, at: Origin) -> None:
    """Refuse numbers that may be places or probabilities.

    Raises:
        DataError: none is below 0, and not all are 0 or 1.
    """
    if (sign < 0).any() or np.isin(sign, (0.0, 1.0)).all():
        return
    more = "--answers a=1,b=2 (places)"
    if not np.isin(sign, (1.0, 2.0)).all():
        more = f"--columns probability={name} (that the first is better)"
        if (sign > 1).any():
            more = _scale(sign)
    raise DataError(
        f"{name} is never below 0, and not always 0 or 1: it may be a place, a "
        "probability or a strength",
        where=at.name,
        mend=f"Say what it is: {more}, or --columns preference={name} (above 0, the "
        f"first is better, as strongly) {_TELL}",
    )


def _scale(values: np.ndarray) -> str:
    """Write the option that reads a scale from the first document to the second."""
    points = sorted({float(v) for v in values})
    middle = (points[0] + points[-1]) / 2
    sides = (
        ("a", [p for p in points if p < middle]),
        ("b", [p for p in points if p > middle]),
        ("tie", [p for p in points if p == middle]),
    )
    texts = [f"{side}={'|'.join(f'{p:g}' for p in of)}" for side, of in sides if of]
    return f"--answers '{','.join(texts)}' (a scale)"


def outcome(column: pd.Series, of: Mapping[str, str], at: Origin) -> np.ndarray:
    """Read whether the winner of a row won, or it was a tie.

    Raises:
        DataError: a cell says neither.
    """
    words = [normal(plain(cell)) for cell in column]
    sign = np.array([1.0 if w in _WINS else NEUTRAL.get(w, np.nan) for w in words])
    a, b, name = of["a"], of["b"], of["outcome"]
    refuse(
        ~np.isfinite(sign),
        lambda i: f"{name} {column.tolist()[i]!r} may change which of {a} and {b} won",
        at,
        f"If {a} won in all rows, say --columns winner={a},loser={b}; else what the "
        f"words mean, --columns a={a},b={b},winner={name} "
        f"{guess_answers(sorted({*words}), sorted({*words} - {*NEUTRAL} - _WINS))} "
        f"{_TELL}",
    )
    return sign


def tied(column: pd.Series, sign: np.ndarray, name: str, at: Origin) -> np.ndarray:
    """Make ties of the rows that a flag says are tied.

    Raises:
        DataError: a cell is no flag, or says that a tie is none.
    """
    words = [normal(plain(cell)) for cell in column]
    flag = np.array([TRUTH.get(word, np.nan) for word in words])
    refuse(
        np.isnan(flag),
        lambda i: f"expected true or false as {name}, found {column.tolist()[i]!r}",
        at,
        f"If it says nothing of ties, say --columns tie=- {_TELL}",
    )
    refuse(
        (sign == TIE) & (flag == 0) & np.array([word != "" for word in words]),
        lambda i: f"the row says a tie, but {name} that it is none",
        at,
        "Mend the row.",
    )
    return np.where(flag == 1, TIE, sign)


def check_sides(
    kind: str,
    cells: Mapping[str, pd.Series],
    of: Mapping[str, str],
    docs: list[pd.Series],
    sign: np.ndarray,
    at: Origin,
) -> None:
    """Refuse a winner or loser that is another than the rest of the row says.

    Raises:
        DataError: there is one.
    """
    if kind == WON:
        cells = {"winner": cells["a"], "loser": cells["b"], **cells}
        of = {**of, "winner": of["a"], "loser": of["b"]}
    rest = ["preference"] if kind == WON else ["a", "b", "preference"]
    for name, pair in (("winner", docs), ("loser", docs[::-1])):
        if name not in cells:
            continue
        said = ids(cells[name], at, empty="preference" in cells)
        signs = pd.Series(sign)
        meant = pair[0].where(signs > 0, pair[1]).where(signs != 0)
        other = ["loser" if name == "winner" else "winner"] if kind == WON else []

        def problem(i: int, name=name, said=said, other=other) -> str:
            row = {
                role: cells[role].tolist()[i] for role in other + rest if role in cells
            }
            row |= {"preference": float(sign[i])} if "preference" in row else {}
            return f"{of[name]} is {said[i]!r}, but " + " and ".join(
                f"{of[role]} is {'empty' if plain(cell) == '' else repr(cell)}"
                for role, cell in row.items()
            )

        refuse(
            (said.notna() & ~(said == meant).fillna(False)).to_numpy(bool),
            problem,
            at,
            "Mend the row, or rename a column that means something else.",
        )
