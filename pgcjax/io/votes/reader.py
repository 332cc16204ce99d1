"""The reader of tables of votes: any layout in, canonical preferences out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from pgcjax.errors import DataError, DataWarning, listed
from pgcjax.io.reading import chosen
from pgcjax.io.schema import Origin, expect, ids, lenient_numbers, numbers, refuse
from pgcjax.io.votes import layouts
from pgcjax.io.votes.answers import (
    check_sides,
    check_signs,
    decode,
    outcome,
    probability,
    tied,
)
from pgcjax.io.votes.layouts import CANONICAL, PLACED, SAYING, WON
from pgcjax.io.votes.roles import NOTHING, Roles, find_roles
from pgcjax.io.votes.words import (
    NONE,
    POSITIONS,
    TIE,
    TRUTH,
    A,
    B,
    Words,
    normal,
    plain,
)
from pgcjax.later import pd

ONE_SET = "comparisons"
"""The query of a table without queries: all its rows are one set of comparisons."""
_TAKEN = ("query_id", "judge", "aspect", "weight", "seconds", "time")
_LENGTHS = {"length_a": "length", "length_b": "other_length"}
_MOST_KEYS = 20  # objects with more keys have data as keys, no columns


def lay_out(
    frame: pd.DataFrame, origin: Origin, *, signed: bool = False
) -> tuple[pd.DataFrame, Origin] | None:
    """Make canonical preferences of a table of votes, with the settings of `reading`.

    Args:
        frame: The table.
        origin: Origin of its rows.
        signed: Whether pgcjax wrote it; then `preference` is a sign, whatever its size.

    Returns:
        Canonical columns, not checked yet, and the origin of each row; None if no two
        columns are the sides of a comparison. `attrs` has `refused`, the number of
        votes without an answer for each judge ("" if unknown).

    Raises:
        DataError: columns or cells are ambiguous, or contradict each other.
    """
    if frame.empty:
        return None
    frame = frame.reset_index(drop=True)
    flat = flattened(frame.set_axis([str(c).strip() for c in frame.columns], axis=1))
    options = chosen()
    roles = find_roles(flat, options.columns, options.answers, origin.name)
    if roles is None:
        return None
    _refuse_header(roles, origin)
    in_words = roles.wide or {*roles.of} & layouts.IN_WORDS
    if roles.meant and not in_words:
        raise DataError(
            "answers define words, but no column has words: the layout is "
            f"{roles.layout.name}",
            where=origin.name,
            mend="Leave them out.",
        )
    if roles.unread:
        _tell(
            f"{origin.name}: votes are read, and not {listed(list(roles.unread))}; "
            f"--columns winner={layouts.tokens(roles.unread[0])[-1]} reads others "
            "(columns= in Python)"
        )
    return _VoteReader(roles, origin, signed).rows()


def _tell(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=6)


class _VoteReader:
    """Reads the rows of one table, whose columns have roles."""

    def __init__(self, roles: Roles, origin: Origin, signed: bool):
        self.roles, self.frame, self.origin = roles, roles.frame, origin
        self.named = roles.header.named
        self.signed = signed or "preference" in self.named

    def rows(self) -> tuple[pd.DataFrame, Origin]:
        """Read all votes, in the order of the table, without those that say nothing."""
        table = pd.concat(self._parts(), ignore_index=True)
        table = table.sort_values("place", kind="stable", ignore_index=True)
        refused = (table["preference"] == NONE).to_numpy()
        if refused.all():
            raise DataError(
                "no row says which of two documents is better",
                where=replace(self.origin, places=table["place"].to_numpy()).at(0),
                mend="Fill in answers, or name another column of them (--columns).",
            )
        judge = table["judge"] if "judge" in table else pd.Series("", table.index)
        counts = Counter(map(str, judge[refused].fillna("").tolist()))
        if "query_id" not in table:
            table["query_id"] = ONE_SET
            if "query_id" not in self.named:
                _tell(
                    f"{self.origin.name}: no column names a query, so all rows are one "
                    "set of comparisons; --columns query_id=- says so (columns= in "
                    "Python)"
                )
        if refused.any():
            table = table[~refused].reset_index(drop=True)
        table.attrs = {"refused": dict(counts)}
        return table, replace(self.origin, places=table.pop("place").to_numpy())

    def _parts(self) -> list[pd.DataFrame]:
        """Read all columns of answers, with the method for the layout's kind."""
        roles, of = self.roles, self.roles.of
        answer = roles.layout.answer
        if answer == layouts.COUNTS:
            return self._counts()
        if answer == layouts.ASPECTS:
            each = roles.each or "aspect"
            wide = roles.wide.items()
            return [self._part(of | x).assign(**{each: name}) for name, x in wide]
        if answer == layouts.ORDERS:  # answers name positions, not columns
            words = Words(POSITIONS, (), roles.meant)
            pairs = (("a", "b"), ("length_a", "length_b"))
            both = [(c, f"other_{c}") for c in roles.covariates]
            pairs = (*pairs, *(p for p in both if p[1] in of))
            swaps = [*pairs, *(pair[::-1] for pair in pairs)]
            turned = of | {side: of[other] for side, other in swaps if other in of}
            orders = (of, "answer_a_first"), (turned, "answer_b_first")
            return [self._part(x | {"winner": x[role]}, words) for x, role in orders]
        if answer == layouts.GAMES:  # answers name sides in either order
            words = replace(roles.words, families=())
            games = [
                self._part(of | {"winner": of[game]}, words)
                for game in ("game_1", "game_2")
            ]
            firsts = zip(games, ("doc_id", "other_doc_id"), strict=True)
            return [game.assign(first=game[column]) for game, column in firsts]
        return [self._part(of)]

    def _counts(self) -> list[pd.DataFrame]:
        """Read the number of wins of each side, or the one column that has a 1."""
        of = {r: c for r, c in self.roles.of.items() if r not in ("wins_a", "wins_b")}
        columns = [self.roles.of["wins_a"], self.roles.of["wins_b"], *self.roles.ties]
        truth = [[TRUTH.get(normal(plain(c))) for c in self.frame[x]] for x in columns]
        if any(cell is None for cells in truth for cell in cells):
            truth = [lenient_numbers(self.frame[x]) for x in columns]
        counts, listing = np.array(truth, float), ", ".join(columns)
        refuse(
            ~((counts >= 0) & (counts % 1 == 0)).all(axis=0),
            lambda i: f"expected whole numbers of wins as {listing}",
            self.origin,
            "Mend the row.",
        )
        flags = any("winner" in layouts.tokens(c) for c in columns[:2])
        total = counts.sum(axis=0)
        refuse(
            (total != 1) if flags else (total == 0),
            lambda i: f"expected {'one 1' if flags else 'a win'} among {listing}",
            self.origin,
            "Mend the row; if it is a tie, say so in a column of its own, winner_tie.",
        )
        one = flags or bool((total == 1).all())  # else a row has several judgments
        weighted = "weight" in of or not one
        if "weight" in of:
            counts = counts * lenient_numbers(self.frame[of["weight"]])
        votes = self._part(of)
        if not one:  # their first documents are unknown
            votes = votes.drop(columns="first", errors="ignore")
        parts = []
        for sign, count in ((A, counts[0]), (B, counts[1]), (TIE, counts[2:].sum(0))):
            rows = count > 0
            part = votes[rows].assign(preference=sign)
            parts.append(part.assign(weight=count[rows]) if weighted else part)
        return [part for part in parts if len(part)]

    def _part(self, of: Mapping[str, str], words: Words | None = None) -> pd.DataFrame:
        """Read one answer of each row, or all answers of a list."""
        roles = self.roles
        cells = {role: self.frame[column] for role, column in of.items()}
        cells, rows = exploded(cells, of, self.origin)
        at = self.origin.of_rows(rows)
        out: dict[str, Any] = {r: c for r, c in cells.items() if r in _TAKEN}
        out |= {n: cells[r] for r, n in _LENGTHS.items() if r in cells}
        out |= {role: cells[role] for role in roles.covariates}
        docs = self._documents(cells, of, at)
        out["doc_id"], out["other_doc_id"] = docs
        sign, by_id = self._sign(cells, of, docs, words or roles.words, at)
        if "tie" in cells:
            sign = tied(cells["tie"], sign, of["tie"], at)
        if "status" in cells:
            status = map(normal, map(plain, cells["status"]))
            sign = np.where([s == layouts.REJECTED for s in status], NONE, sign)
        if "first" in cells:
            out["first"] = self._first(cells["first"], docs, of["first"], at)
        elif roles.kind == PLACED and self.named.get("first") != NOTHING:
            if roles.orders and not by_id:
                raise self._unknown_order()
            if not roles.orders and roles.ends in layouts.ENDS[:-1]:
                out["first"] = docs[0]
        elif roles.orders and roles.kind == CANONICAL and not by_id:
            raise self._unknown_order()
        if {"preference", "probability"} <= {*cells}:
            out["probability"] = cells["probability"]  # which may be empty
        elif (p := probability(cells, of, sign, at)) is not None:
            out["probability"] = p
            sign = np.where(np.isnan(sign), np.sign(p - 0.5), sign)
        return pd.DataFrame(out | {"preference": sign, "place": at.places})

    def _documents(
        self, cells: Mapping[str, pd.Series], of: Mapping[str, str], at: Origin
    ) -> tuple[pd.Series, pd.Series]:
        """Read the ids of both documents; without the other, doc_id was judged bad."""
        a, b = cells["a"].rename(of["a"]), cells["b"].rename(of["b"])
        if self.roles.kind == CANONICAL:
            a, b = a.rename("doc_id"), b.rename("other_doc_id")
        if "preference" in of and not {"winner", "loser"} & {*of}:
            return a, b  # no answer names them: they are checked later
        bad = self.roles.kind == CANONICAL and "preference" in of
        return ids(a, at), ids(b, at, empty=bad)

    def _sign(
        self,
        cells: Mapping[str, pd.Series],
        of: Mapping[str, str],
        docs: tuple[pd.Series, pd.Series],
        words: Words,
        at: Origin,
    ) -> tuple[np.ndarray, bool]:
        """Read the sign of each vote, and whether answers are ids."""
        kind = self.roles.kind
        if "preference" in cells:
            sign = numbers(cells["preference"], "preference", at)
            if kind == WON or {"winner", "loser"} & {*cells}:
                check_sides(kind, cells, of, docs, sign, at)
            elif not self.signed:
                alone = docs[1].isna() | (docs[1] == "")  # judged bad
                check_signs(sign[~alone.to_numpy(bool)], of["preference"], at)
            return sign, kind == WON
        if kind == WON:
            if "outcome" in cells:
                return outcome(cells["outcome"], of, at), True
            return np.ones(len(docs[0])), True
        if "winner" in cells and "loser" in cells and not words.given:
            winner = ids(cells["winner"], at)
            sign = np.where((winner == docs[1]).fillna(False), B, A)
            check_sides(kind, cells, of, docs, sign, at)
            return sign, True
        two = docs[0].tolist(), docs[1].tolist()
        for role, verb in (("winner", "is better"), ("loser", "is worse")):
            if role in cells:
                column = cells[role].tolist()
                read = decode(column, two, words, of[role], at, verb)
                sign = read.sign
                if role == "loser":
                    sign = np.where(sign == NONE, NONE, 0.0 - sign)
                return sign, read.ids
        return np.full(len(docs[0]), np.nan), False

    def _first(
        self,
        column: pd.Series,
        docs: tuple[pd.Series, pd.Series],
        name: str,
        at: Origin,
    ) -> pd.Series:
        """Read the document shown first, an id or a side; missing if it is unknown."""
        if self.roles.kind != PLACED:
            return column  # ids alone, which are checked with the others
        two = docs[0].tolist(), docs[1].tolist()
        words = replace(self.roles.words, meant={})
        sign, *_ = decode(column.tolist(), two, words, name, at, "was shown first")
        mend = "Give one of the two documents, or nothing where it is unknown."
        expect(sign != TIE, "what was shown first", column, at, mend)
        return docs[0].where(sign != B, docs[1]).where(sign != NONE)

    def _unknown_order(self) -> DataError:
        header, of = self.roles.header, self.roles.of
        return header.error(
            f"has a column {self.roles.orders[0]!r}, which may say that {of['b']!r} "
            "was shown first, and that answers mean what was shown",
            f"Turn such answers before; if all name {of['a']} and {of['b']} whatever "
            f"was shown first, say {header.options(first=NOTHING)}",
        )


def flattened(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns of the keys of objects, as JSON has them: `doc_a.id`."""
    parts: dict[str, pd.Series] = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        cells = column.tolist() if column.dtype == object else []
        there = [cell for cell in cells if cell is not None]
        keys = list(dict.fromkeys(k for c in there if isinstance(c, dict) for k in c))
        objects = there and all(isinstance(cell, dict) for cell in there)
        if not objects or len(keys) > _MOST_KEYS:
            continue
        for key in keys:
            values = [None if c is None else c.get(key) for c in cells]
            parts[f"{name}.{key}"] = pd.Series(values, dtype=object, index=frame.index)
        parts[name] = column
    if not parts:
        return frame
    rest = frame.loc[:, [name not in parts for name in frame.columns]]
    deeper = pd.DataFrame({n: c for n, c in parts.items() if n not in frame.columns})
    return pd.concat([rest, flattened(deeper)], axis=1)


def _refuse_header(roles: Roles, origin: Origin) -> None:
    """Refuse a row that names columns, as in two concatenated files."""
    frame = roles.frame
    columns = [roles.of[r] for r in ("query_id", "a", "b") if r in roles.of]
    if len(columns) < 3:
        return
    names = {str(name) for name in frame.columns}
    bad = frame[columns[0]].isin(names).to_numpy()
    for column in columns[1:]:
        bad = bad & frame[column].isin(names).to_numpy() if bad.any() else bad
    refuse(
        bad,
        lambda i: (
            f"expected a vote, found the names of columns, such as {columns[1]!r}"
        ),
        origin,
        "Read files with different headers by themselves, or remove the line.",
    )


def _is_list(cell: object) -> bool:
    return isinstance(cell, (list, tuple, np.ndarray))


def exploded(
    cells: dict[str, pd.Series], of: Mapping[str, str], origin: Origin
) -> tuple[dict[str, pd.Series], np.ndarray]:
    """Make a row of each vote in lists of votes; return the number of its old row.

    Raises:
        DataError: lists of one row differ in length, or a column without votes has
            lists.
    """
    lists = [
        role
        for role, column in cells.items()
        if column.dtype == object and any(map(_is_list, column.tolist()))
    ]
    saying = [role for role in lists if role in SAYING]
    if "judge" in lists and not saying:
        # Several judges gave one answer, such as a gold label: it has no single judge.
        cells = {role: c for role, c in cells.items() if role != "judge"}
        lists.remove("judge")
    if not lists:
        return cells, np.arange(len(next(iter(cells.values()))))
    if not saying or {"a", "b", "query_id"} & {*lists}:
        role = next(r for r in lists if not saying or r in ("a", "b", "query_id"))
        refuse(
            np.array([*map(_is_list, cells[role])]),
            lambda i: f"expected one {of[role]}, found a list",
            origin,
            "Give each vote a row of its own.",
        )
    sizes = np.array([[len(x) if _is_list(x) else -1 for x in cells[r]] for r in lists])
    refuse(
        (sizes != sizes[0]).any(axis=0) | (sizes[0] < 0),
        lambda i: f"expected lists of one length as {listed([of[r] for r in lists])}",
        origin,
        "Give each vote its judge; or name the columns that are lists of votes.",
    )
    if "judge" in cells and "judge" not in lists:
        refuse(
            sizes[0] > 1,
            lambda i: f"expected a judge of each vote in {of[saying[0]]}, found one",
            origin,
            "Give a list of judges, as long as that of votes.",
        )
    rows = np.repeat(np.arange(sizes.shape[1]), sizes[0])
    out = {r: c.iloc[rows].reset_index(drop=True) for r, c in cells.items()}
    for role in lists:
        out[role] = pd.Series([*chain.from_iterable(cells[role])], dtype=object)
    return out, rows
