"""Refusals of tables of votes: what leaves their meaning open, and what settles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pgcjax.errors import DataError, listed
from pgcjax.io.schema import lenient_numbers
from pgcjax.io.votes import layouts
from pgcjax.io.votes.header import EACH, NOTHING, Header, Pair, Roles, is_text
from pgcjax.io.votes.layouts import LAYOUTS, WON
from pgcjax.io.votes.words import normal
from pgcjax.later import pd

_FEW = 8  # words that a column of answers may have, at least


def several(header: Header, names: Sequence[str], column: str) -> DataError:
    """Refuse columns of answers that may be of aspects, of judges or of orders."""
    return header.error(
        f"has answers in several columns, which may be aspects or judges: "
        f"{listed(list(names), 4)}",
        f"Say which: {header.options(aspect=EACH)} or {header.options(judge=EACH)}; or "
        f"name the one that counts, {header.options(winner=column)} (columns= in "
        "Python).",
    )


def _guess_answer(header: Header, roles: Roles, frame: pd.DataFrame) -> str:
    """Write the option that names the column that is most likely of answers."""
    for column in header.columns:
        if column in roles.of.values():
            continue
        values = lenient_numbers(frame[column])
        if (values < 0).any() and (values > 0).any() and np.isfinite(values).all():
            return f"If {column!r} is above 0 where {roles.of['a']} is better, say " + (
                f"{header.options(preference=column)} (columns= in Python)."
            )
        if len({*map(str, frame[column].tolist())}) <= _FEW and np.isnan(values).all():
            return f"If {column!r} does, say {header.options(winner=column)}."
    return "Add one, such as winner."


def no_answer(
    header: Header, roles: Roles, frame: pd.DataFrame, names: Sequence[str]
) -> DataError:
    """Refuse a table that does not say who won, but perhaps in the columns `names`."""
    if len(names) > 1:
        return several(header, names, names[0])
    if names:
        return header.error(
            "has no column that surely says who won",
            f"If {names[0]!r} does, say {header.options(winner=names[0])} (columns= in "
            "Python).",
        )
    return header.error(
        "has no column that says who won",
        f"{_guess_answer(header, roles, frame)} Layouts: "
        + "; ".join(x.name for x in LAYOUTS if roles.kind in x.sides)
        + ".",
    )


def check_rest(
    header: Header, roles: Roles, pairs: Sequence[Pair], frame: pd.DataFrame
) -> None:
    """Refuse columns that may change what others mean, and that nothing claims."""
    used = {*roles.of.values(), *roles.ties, *roles.unread}
    used |= {column for columns in roles.wide.values() for column in columns.values()}
    stems = {
        column: pair.stem
        for pair in pairs
        for column in pair.columns
        if not used & {*pair.columns}
    }
    saying = {*header.named} & layouts.SAYING - {"tie"}
    settled = {*header.named} | ({"winner", "probability"} if saying else set())
    if "confidence" in roles.of or "probability" in roles.of or "p_a" in roles.of:
        settled.add("probability")
    doubts: dict[str, str] = {}
    for column in header.columns:
        if column in used - {roles.of.get("aspect")}:
            continue
        words = stems.get(column, header.words[column])
        role = layouts.changes(words)
        if _is_third(column, header, roles) and "a" not in header.named:
            role = "a"
        if {*words} & layouts.MARGINS and {*words} <= layouts.OF_MARGINS and not saying:
            roles.margins += (column,)
        if roles.kind == WON and {*words} & layouts.INVERTED:
            role = "winner"
        if not role and column != roles.of.get("tie") and asks(frame[column]):
            role = "winner"
        if not role or role in settled:
            continue
        if role == "winner" and is_text(frame[column]):
            continue
        if role == "first":
            roles.orders += (column,)
        else:
            doubts.setdefault(role, column)
    if doubts:
        raise _doubt(header, roles, doubts)


def asks(column: pd.Series) -> bool:
    """Tell whether all cells ask for the better or the worse one, and some for that."""
    if column.dtype != object and not pd.api.types.is_string_dtype(column.dtype):
        return False
    cells: set[str] = set()
    for cell in column.tolist():
        if not isinstance(cell, str) or len(cells) > _FEW:
            return False
        cells.add(cell)
    words = [{*normal(cell).split()} for cell in cells]
    return all(w & (layouts.WORSE | layouts.BETTER) for w in words) and any(
        w & layouts.WORSE for w in words
    )


def _is_third(column: str, header: Header, roles: Roles) -> bool:
    """Tell whether a column is a third side beside the two."""
    words, side = header.words[column], header.words[roles.of["a"]]
    differ = [i for i, (x, y) in enumerate(zip(words, side, strict=False)) if x != y]
    return (
        len(words) == len(side)
        and len(differ) == 1
        and words[differ[0]] in layouts.THIRD
        and side[differ[0]] == roles.ends[0]
    )


def _doubt(header: Header, roles: Roles, doubts: Mapping[str, str]) -> DataError:
    """Refuse a table for what columns may mean, with a line that settles all."""
    of = roles.of
    winner = {"winner": of.get("winner") or of.get("preference") or ""}
    if roles.kind == WON:
        winner = {"winner": of["a"], "loser": of["b"]}
    elif not winner["winner"]:
        winner = {role: of[role] for role in roles.layout.needs if role in of}
    settle: dict[str, str] = {}
    for role, column in doubts.items():
        if role == "winner":
            settle |= winner
        elif role == "a":
            settle |= {"a": of["a"], "b": of["b"]}
        elif role == "probability":
            settle["confidence"] = column
        else:
            settle[role] = column
    meanings = {
        "winner": "say who won otherwise",
        "a": "be compared, too",
        "probability": "be the probability of some side",
        "weight": "say how many votes a row stands for",
        "tie": "say that a row is a tie",
    }
    role, column = next(iter(doubts.items()))
    no = {r: NOTHING if r in ("weight", "tie") else settle[r] for r in settle}
    if "probability" in doubts:
        no.pop("confidence")
        no |= {"probability": NOTHING}
    mend = header.options(**settle)
    if no != settle:
        mend += f" if so, else {header.options(**no)}"
    elif role in ("winner", "a"):
        mend += " leaves it aside"
    return header.error(
        f"has a column {column!r}, which may {meanings[role]}",
        f"Say what counts: {mend} (columns= in Python).",
    )
