"""Tables of votes as people publish them, turned into canonical preferences."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from pgcjax.errors import DataWarning, listed
from pgcjax.io.schema import Origin, ids, lenient_numbers, refuse
from pgcjax.io.vote_columns import CANONICAL, Finder, Roles, check_wide, find_roles
from pgcjax.io.vote_probabilities import probability
from pgcjax.io.vote_words import (
    NONE,
    A,
    B,
    Words,
    decode,
    named_words,
    normal,
    positions,
)
from pgcjax.later import pd

ONE_SET = "comparisons"
"""The query of a table without one: all its rows are one set of comparisons."""


@dataclass(frozen=True)
class Laid:
    """Votes as canonical columns, not checked yet.

    Attributes:
        frame: the rows.
        origin: where each came from.
        refused: how many votes of each judge, "" for none, give no answer.
        both_bad: how many ties say that both are bad.
    """

    frame: pd.DataFrame
    origin: Origin
    refused: dict[str, int]
    both_bad: int


def lay_out(
    frame: pd.DataFrame,
    origin: Origin,
    named: Mapping[str, str],
    meant: Mapping[str, str],
) -> Laid | None:
    """Make canonical preferences of a table of votes.

    Args:
        frame: the table.
        origin: of its rows.
        named: what `parse_columns` read.
        meant: what `parse_answers` read.

    Returns:
        The rows; None if no columns are the two sides of a comparison, or none says
        who won: it is no such table.

    Raises:
        DataError: columns or cells leave open what they mean, or contradict each other.
    """
    if frame.empty:
        return None
    frame = frame.reset_index(drop=True)
    roles = find_roles(frame.columns, named, origin.name)
    if roles is None:
        return None
    words = named_words(meant) if meant else _words(roles)
    if not roles.won and not _answers(roles):
        roles = _bare(frame, roles, named, origin, words)
        if roles is None:
            return None
    if roles.unread:
        warnings.warn(
            f"{origin.name}: votes are read, and not {listed(list(roles.unread))}; "
            "--columns winner=… reads others (columns= in Python)",
            DataWarning,
            stacklevel=4,
        )
    parts = []
    if roles.wide:
        for name, columns in roles.wide.items():
            part = _part(frame, origin, roles, roles.of | columns, words)
            part[0][roles.wide_role] = name
            parts.append(part)
    elif roles.swapped:
        for first, column in zip(("a", "b"), roles.swapped, strict=True):
            parts.append(_in_order(frame, origin, roles, first, column, meant))
    else:
        parts.append(_part(frame, origin, roles, roles.of, words))
    return _joined(parts, frame, origin, named)


def _words(roles: Roles) -> Words:
    return Words.of((roles.of["a"], roles.of["b"]), roles.ends)


def _answers(roles: Roles) -> bool:
    of = {*roles.of} & {"winner", "probability", "p_a"}
    return bool(of or roles.wide or roles.swapped or roles.indicators)


def _bare(
    frame: pd.DataFrame,
    roles: Roles,
    named: Mapping[str, str],
    origin: Origin,
    words: Words,
) -> Roles | None:
    """Take columns that hold nothing but answers for those of aspects."""
    finder, used = Finder(frame.columns, origin.name), {*roles.of.values()}
    full = [
        name
        for name in map(str, frame.columns)
        if name not in used and _all_answers(frame[name], words)
    ]
    if not full:
        if named:
            raise finder.error(
                "has no column that says who won", "Name it: --columns winner=…."
            )
        return None
    if len(full) == 1:
        raise finder.error(
            "has no column that surely says who won",
            f"If {full[0]!r} does, say --columns winner={full[0]} (columns= in "
            "Python).",
        )
    role = next((r for r in ("aspect", "judge") if named.get(r) == "*"), "")
    check_wide(finder, role, roles.of, full)
    wide = {name: {"winner": name} for name in full}
    return Roles(
        roles.of, roles.ends, shown=roles.shown, wide=wide, wide_role=role or "aspect"
    )


def _all_answers(column: pd.Series, words: Words) -> bool:
    try:
        said = {normal(cell) for cell in column.unique().tolist()}
    except TypeError:  # lists
        return False
    signs = {words.sign.get(word, np.nan) for word in said}
    return bool(signs & {A, B}) and not any(sign != sign for sign in signs)


Part = tuple[dict[str, Any], Origin, np.ndarray, int]
"""Columns of rows, their origin, their signs, and ties that say both bad."""


def _part(
    frame: pd.DataFrame,
    origin: Origin,
    roles: Roles,
    of: Mapping[str, str],
    words: Words,
) -> Part:
    """Read one answer of each row, or each of a list of them."""
    cells = {role: frame[column] for role, column in of.items()}
    cells, rows = _exploded(cells, of, origin)
    at = Origin(origin.name, origin.unit, _places(origin, rows))
    out: dict[str, Any] = {role: c for role, c in cells.items() if role in _KEPT}
    canonical = roles.ends == CANONICAL
    docs = [ids(cells["a"].rename(of["a"]), at)]
    docs.append(ids(cells["b"].rename(of["b"]), at, empty=canonical))
    out["doc_id"], out["other_doc_id"] = docs
    for side, name in (("length_a", "length"), ("length_b", "other_length")):
        if side in cells:
            out[name] = cells[side]
    two, bad = (docs[0].tolist(), docs[1].tolist()), 0
    if roles.won:
        sign = np.ones(len(rows))
    elif roles.indicators:
        sign = _indicated(frame, roles.indicators, origin)
    elif "winner" in cells and canonical and _numeric(cells["winner"]):
        sign = lenient_numbers(cells["winner"])
    elif "winner" in cells:
        sign, bad = decode(cells["winner"].tolist(), two, words, of["winner"], at)
    else:
        sign = np.full(len(rows), np.nan)
    if (p := probability(cells, of, sign, at)) is not None:
        out["probability"] = p
        sign = np.where(np.isnan(sign), np.sign(p - 0.5), sign)
    if "first" in cells:
        out["first"] = _first(cells["first"], docs, words, of["first"], at)
    elif roles.shown:
        out["first"] = docs[0]
    return out, at, sign, bad


_ANSWERS = {"winner", "probability", "confidence", "p_a", "p_tie", "p_b"}
_KEPT = ("query_id", "judge", "aspect", "weight", "seconds", "time")


def _numeric(column: pd.Series) -> bool:
    return bool(np.isfinite(lenient_numbers(column)).all())


def _places(origin: Origin, rows: np.ndarray) -> np.ndarray:
    return np.asarray(origin.places)[rows] if len(origin.places) else rows + 1


def _exploded(
    cells: dict[str, pd.Series], of: Mapping[str, str], origin: Origin
) -> tuple[dict[str, pd.Series], np.ndarray]:
    """Make a row of each vote in lists of votes, and say which row it came from."""
    lists = [role for role, c in cells.items() if c.map(_is_list).any()]
    if "judge" in lists and not {*lists} & _ANSWERS:
        # One answer of several judges, as of gold labels: no single one's.
        cells, lists = {r: c for r, c in cells.items() if r != "judge"}, lists[:0]
    if not lists:
        return cells, np.arange(len(next(iter(cells.values()))))
    lengths = [[len(x) if _is_list(x) else -1 for x in cells[r]] for r in lists]
    main = lists.index("winner") if "winner" in lists else 0
    for role, own in zip(lists, lengths, strict=True):
        refuse(
            np.array(own) != np.array(lengths[main]),
            lambda i, r=role, own=own: (
                f"expected lists of one length, found {lengths[main][i]} of "
                f"{of[lists[main]]} and {max(own[i], 0) or 'no list'} of {of[r]}"
            ),
            origin,
            "Give each vote its judge; or name the columns that are lists of votes.",
        )
    if "judge" in cells and "judge" not in lists:
        refuse(
            np.array(lengths[main]) > 1,
            lambda i: f"expected a judge of each vote in {of[lists[main]]}, found one",
            origin,
            "Give a list of judges, as long as that of votes.",
        )
    rows = np.repeat(np.arange(len(lengths[main])), lengths[main])
    out = {}
    for role, column in cells.items():
        if role in lists:
            column = pd.Series([*chain.from_iterable(column)], dtype=object)
        else:
            column = column.iloc[rows].reset_index(drop=True)
        out[role] = column
    return out, rows


def _is_list(cell: object) -> bool:
    return isinstance(cell, (list, tuple, np.ndarray))


def _indicated(
    frame: pd.DataFrame, columns: Sequence[str], origin: Origin
) -> np.ndarray:
    """Read columns of 0 and 1: for a, for b and, if there are more, for neither."""
    truth = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
    flags = np.array(
        [[truth.get(normal(c), np.nan) for c in frame[x]] for x in columns]
    )
    names = ", ".join(columns)
    refuse(
        ~(flags.sum(axis=0) == 1),
        lambda i: f"expected one 1 among {names}, and 0 in the others",
        origin,
        "If a row without a 1 is a tie, give it a column of its own, winner_tie.",
    )
    return flags[0] - flags[1]


def _first(
    column: pd.Series, docs: list[pd.Series], words: Words, name: str, at: Origin
) -> pd.Series:
    """Read what was shown first, an id or a side; missing where that is not known."""
    two = docs[0].tolist(), docs[1].tolist()
    sign, _ = decode(column.tolist(), two, words, name, at, "was shown first")
    refuse(
        sign == 0,
        lambda i: f"expected what was shown first, found {column.tolist()[i]!r}",
        at,
        "Give one of the two documents, or nothing where it is not known.",
    )
    return docs[0].where(sign != B, docs[1]).where(sign != NONE)


def _in_order(
    frame: pd.DataFrame,
    origin: Origin,
    roles: Roles,
    first: str,
    column: str,
    meant: Mapping[str, str],
) -> Part:
    """Read the answers that were given when one of the two was shown first."""
    second = "b" if first == "a" else "a"
    of = {**roles.of, "winner": column}
    for side, other in zip(("a", "b"), (first, second), strict=True):
        for role in ("", "length_"):
            if f"{role}{other}" in roles.of:
                of[f"{role}{side}"] = roles.of[f"{role}{other}"]
    words = named_words(meant) if meant else positions()
    return _part(frame, origin, roles, of, words)


def _joined(
    parts: Sequence[Part], frame: pd.DataFrame, origin: Origin, named: Mapping[str, str]
) -> Laid | None:
    """Put all rows together, by row of the table, without votes that say nothing."""
    tables = [
        pd.DataFrame(columns).assign(preference=sign) for columns, _, sign, _ in parts
    ]
    table = pd.concat(tables, ignore_index=True)
    places = np.concatenate([np.asarray(at.places) for _, at, _, _ in parts])
    order = np.argsort(places, kind="stable")
    table, places = table.iloc[order].reset_index(drop=True), places[order]
    refused = table["preference"] == NONE
    judge = table["judge"] if "judge" in table else pd.Series("", table.index)
    counts = Counter(map(str, judge[refused].fillna("").tolist()))
    if refused.all():
        refuse(
            np.array([True]),
            lambda i: "no row says which of two documents is better",
            Origin(origin.name, origin.unit, places[:1]),
            "Name the column that does: --columns winner=… (columns= in Python).",
        )
    if "query_id" not in table:
        table["query_id"] = ONE_SET
        if "query_id" not in named:
            warnings.warn(
                f"{origin.name}: no column names a query, so all rows are one set of "
                "comparisons; --columns query_id=… names one (columns= in Python)",
                DataWarning,
                stacklevel=5,
            )
    kept = (~refused).to_numpy()
    return Laid(
        table[kept].reset_index(drop=True),
        Origin(origin.name, origin.unit, places[kept]),
        dict(counts),
        sum(bad for *_, bad in parts),
    )
