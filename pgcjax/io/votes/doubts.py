"""Refusals of tables of votes: what leaves their meaning open, and what settles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pgcjax.errors import DataError, listed
from pgcjax.io.votes import layouts
from pgcjax.io.votes.header import EACH, NOTHING, Header, Pair, Roles, is_text
from pgcjax.io.votes.layouts import LAYOUTS, WON
from pgcjax.later import pd


def several(header: Header, names: Sequence[str]) -> DataError:
    """Refuse columns of answers that may be of aspects, of judges or of orders."""
    return header.error(
        f"has answers in several columns, which may be aspects or judges: "
        f"{listed(list(names), 4)}",
        f"Say which: {header.options(aspect=EACH)} or {header.options(judge=EACH)}; or "
        "name the one that counts, winner=… (columns= in Python).",
    )


def no_answer(header: Header, roles: Roles, names: Sequence[str]) -> DataError:
    """Refuse a table that does not say who won, but perhaps in the columns `names`."""
    if len(names) > 1:
        return several(header, names)
    if names:
        return header.error(
            "has no column that surely says who won",
            f"If {names[0]!r} does, say {header.options(winner=names[0])} (columns= in "
            "Python).",
        )
    return header.error(
        "has no column that says who won",
        f"Name it: {header.options(winner='…')}. Layouts: "
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
        if column in used:
            continue
        words = stems.get(column, header.words[column])
        role = layouts.changes(words)
        if _is_third(column, header, roles) and "a" not in header.named:
            role = "a"
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


def _is_third(column: str, header: Header, roles: Roles) -> bool:
    """Say whether a column is a third side beside the two."""
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
