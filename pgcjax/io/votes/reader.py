"""The reader of tables of votes: any layout in, canonical preferences out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgcjax.errors import DataError, DataWarning, listed
from pgcjax.io.schema import Origin, ids, lenient_numbers, numbers, refuse
from pgcjax.io.votes import layouts
from pgcjax.io.votes.columns import find_roles, words_of
from pgcjax.io.votes.decode import Words, decode
from pgcjax.io.votes.header import NOTHING, Roles
from pgcjax.io.votes.layouts import CANONICAL, PLACED, WON
from pgcjax.io.votes.probabilities import probability
from pgcjax.io.votes.rows import check_header, exploded, flattened, places
from pgcjax.io.votes.signs import TRUTH, check_sides, check_signs, outcome, tied
from pgcjax.io.votes.words import (
    NONE,
    POSITIONS,
    TIE,
    A,
    B,
    normal,
    plain,
)
from pgcjax.later import pd

ONE_SET = "comparisons"
"""The query of a table without one: all its rows are one set of comparisons."""
_CANONICAL = {"a": "doc_id", "b": "other_doc_id", "length_a": "length"}
_CANONICAL |= {"length_b": "other_length"}
_KEPT = ("query_id", "judge", "aspect", "weight", "seconds", "time", "length")
_KEPT += ("other_length",)
_OURS = {*_KEPT, "first", "a", "b", "preference", "probability", *_CANONICAL}


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


@dataclass(frozen=True)
class _Part:
    """Rows that are read in one way: columns, origin, signs, ties that say both bad."""

    columns: dict[str, Any]
    origin: Origin
    sign: np.ndarray
    both_bad: int = 0

    def only(self, rows: np.ndarray, sign: float, weight: np.ndarray | None) -> _Part:
        """Take some rows, all of one sign."""
        columns = {n: c[rows].reset_index(drop=True) for n, c in self.columns.items()}
        if weight is not None:
            columns["weight"] = weight[rows]
        at = Origin(
            self.origin.name, self.origin.unit, np.asarray(self.origin.places)[rows]
        )
        return _Part(columns, at, np.full(int(rows.sum()), sign))


def lay_out(
    frame: pd.DataFrame,
    origin: Origin,
    named: Mapping[str, str],
    meant: Mapping[str, float],
    *,
    signed: bool = False,
) -> Laid | None:
    """Make canonical preferences of a table of votes.

    Args:
        frame: the table.
        origin: of its rows.
        named: what `parse_columns` read.
        meant: what `parse_answers` read.
        signed: whether pgcjax wrote it: then `preference` is a sign, whatever its size.

    Returns:
        The rows; None if no columns are the two sides of a comparison: it is no such
        table.

    Raises:
        DataError: columns or cells leave open what they mean, or contradict each other.
    """
    if frame.empty:
        return None
    frame = frame.reset_index(drop=True)
    flat = flattened(frame.set_axis([str(c).strip() for c in frame.columns], axis=1))
    roles = find_roles(flat, named, meant, origin.name)
    if roles is None:
        return None
    frame = flat.loc[:, ~flat.columns.duplicated()]
    check_header(frame, roles, origin)
    if roles.kind == CANONICAL and {"query_id", "preference"} <= {*roles.of} <= _OURS:
        if not roles.orders and not meant:
            return _canonical(frame, origin, roles.of, signed or "preference" in named)
    read = _Reader(frame, origin, roles, named, meant, signed)
    if meant and not read.has_words:
        raise DataError(
            f"answers say what words mean, but no column has any: the layout is "
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
    return _joined(read.parts(), origin, named)


def _canonical(
    frame: pd.DataFrame, origin: Origin, of: Mapping[str, str], signed: bool
) -> Laid:
    """Name the columns of a table that is canonical already."""
    sign = numbers(frame[of["preference"]], "preference", origin)
    if not signed:
        alone = frame[of["b"]].isin(["", None]).to_numpy()  # judged bad
        check_signs(sign[~alone], of["preference"], origin)
    table = frame[list(of.values())].set_axis(
        [_CANONICAL.get(role, role) for role in of], axis=1
    )
    return Laid(table.assign(preference=sign), origin, {}, 0)


def _tell(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=6)


class _Reader:
    """Reads the rows of one table, whose columns have roles."""

    def __init__(
        self,
        frame: pd.DataFrame,
        origin: Origin,
        roles: Roles,
        named: Mapping[str, str],
        meant: Mapping[str, float],
        signed: bool,
    ):
        self.frame, self.origin, self.roles = frame, origin, roles
        self.named, self.meant = named, meant
        self.signed = signed or "preference" in named
        self.words = words_of(roles, meant)

    @property
    def has_words(self) -> bool:
        """Whether the layout has a column of answers, which may be words."""
        of = self.roles.of
        return bool(
            self.roles.wide
            or of.keys() & {"winner", "loser", "answer_a_first", "game_1", "outcome"}
        )

    def parts(self) -> list[_Part]:
        """Read all columns of answers."""
        of = self.roles.of
        if self.roles.wide:
            return self._wide()
        if "answer_a_first" in of:
            return [self._in_order("a", "b"), self._in_order("b", "a")]
        if "game_1" in of:
            return [self._game("game_1", "a"), self._game("game_2", "b")]
        if "wins_a" in of:
            return self._counted()
        return [self._part(of, self.words)]

    def _wide(self) -> list[_Part]:
        parts = []
        for name, columns in self.roles.wide.items():
            part = self._part(self.roles.of | columns, self.words)
            part.columns[self.roles.wide_role] = name
            parts.append(part)
        return parts

    def _in_order(self, first: str, second: str) -> _Part:
        """Read the answers that were given when one of the two was shown first."""
        of = {**self.roles.of, "winner": self.roles.of[f"answer_{first}_first"]}
        for side, other in (("a", first), ("b", second)):
            for role in ("", "length_"):
                if f"{role}{other}" in self.roles.of:
                    of[f"{role}{side}"] = self.roles.of[f"{role}{other}"]
        return self._part(of, Words(POSITIONS, (), self.meant))

    def _game(self, role: str, first: str) -> _Part:
        """Read one of two games, whose answers name sides however they were shown."""
        of = self.roles.of
        words = Words((), self.words.columns, self.meant)
        part = self._part({**of, "winner": of[role]}, words)
        part.columns["first"] = part.columns[
            "doc_id" if first == "a" else "other_doc_id"
        ]
        return part

    def _counted(self) -> list[_Part]:
        """Read how often each side won, or which of several columns has the one 1."""
        of, names = self.roles.of, ["wins_a", "wins_b"]
        columns = [of[name] for name in names] + list(self.roles.ties)
        truth = [[TRUTH.get(normal(plain(c))) for c in self.frame[x]] for x in columns]
        flags = all(cell is not None for cells in truth for cell in cells)
        counts = np.array(
            truth if flags else [lenient_numbers(self.frame[x]) for x in columns], float
        )
        listing, at = ", ".join(columns), self.origin
        refuse(
            ~((counts >= 0) & (counts % 1 == 0)).all(axis=0),
            lambda i: f"expected whole numbers of wins as {listing}",
            at,
            "Mend the row.",
        )
        named = any("winner" in layouts.tokens(c) for c in columns[:2])
        total = counts.sum(axis=0)
        flags = named or bool((total == 1).all())
        refuse(
            (total != 1) if named else (total == 0),
            lambda i: (
                f"expected one 1 among {listing}, and 0 in the others"
                if named
                else f"expected a win in one of {listing}, found none"
            ),
            at,
            "If a row without a 1 is a tie, give it a column of its own, winner_tie."
            if named
            else "Remove the row.",
        )
        of = {role: c for role, c in of.items() if role not in names}
        part = self._part({**of, "sign": ""}, self.words)
        if not flags:
            part.columns.pop("first", None)  # of several judgments, nobody knows it
        given = lenient_numbers(self.frame[of["weight"]]) if "weight" in of else 1.0
        parts = []
        ties = counts[2:].sum(axis=0)
        for sign, count in ((A, counts[0]), (B, counts[1]), (TIE, ties)):
            weight = None if flags and "weight" not in of else count * given
            parts.append(part.only(count > 0, sign, weight))
        return [p for p in parts if len(p.sign)]

    def _part(self, of: Mapping[str, str], words: Words) -> _Part:
        """Read one answer of each row, or each of a list of them."""
        roles, frame = self.roles, self.frame
        cells = {role: frame[column] for role, column in of.items() if column}
        cells, rows = exploded(cells, of, self.origin)
        at = Origin(self.origin.name, self.origin.unit, places(self.origin, rows))
        out: dict[str, Any] = {role: c for role, c in cells.items() if role in _KEPT}
        for side, name in (("length_a", "length"), ("length_b", "other_length")):
            if side in cells:
                out[name] = cells[side]
        empty = "preference" in of and roles.kind == CANONICAL
        docs = [
            ids(cells["a"].rename(of["a"]), at),
            ids(cells["b"].rename(of["b"]), at, empty=empty),
        ]
        out["doc_id"], out["other_doc_id"] = docs
        sign, is_id, bad = self._sign(cells, of, docs, words, at)
        if "tie" in cells:
            sign = tied(cells["tie"], sign, of["tie"], at)
        self._check_margins(sign, rows, of, at)
        if "first" in cells:
            out["first"] = self._first(cells["first"], docs, of["first"], at)
        elif roles.kind == PLACED and self.named.get("first") != NOTHING:
            if roles.orders and not is_id:
                raise self._unknown_order()
            if not roles.orders and roles.ends in layouts.ENDS[:-1]:
                out["first"] = docs[0]
        elif roles.orders and roles.kind == CANONICAL and not is_id:
            raise self._unknown_order()
        if (p := probability(cells, of, sign, at)) is not None:
            out["probability"] = p
            sign = np.where(np.isnan(sign), np.sign(p - 0.5), sign)
        return _Part(out, at, sign, bad)

    def _sign(
        self,
        cells: Mapping[str, pd.Series],
        of: Mapping[str, str],
        docs: list[pd.Series],
        words: Words,
        at: Origin,
    ) -> tuple[np.ndarray, bool, int]:
        """Read who won; say whether that is by ids, and how many ties say both bad."""
        length, two = len(docs[0]), (docs[0].tolist(), docs[1].tolist())
        if "preference" in cells:
            sign = numbers(cells["preference"], "preference", at)
            if self.roles.kind == WON or {"winner", "loser"} & {*cells}:
                check_sides(self.roles.kind, cells, of, docs, sign, at)
            elif not self.signed:
                check_signs(sign[docs[1].notna().to_numpy()], of["preference"], at)
            return sign, self.roles.kind == WON, 0
        if self.roles.kind == WON:
            sign = np.ones(length)
            if "outcome" in cells:
                sign = outcome(cells["outcome"], of, at)
            return sign, True, 0
        if "winner" in cells and "loser" in cells and not words.given:
            winner = ids(cells["winner"], at)
            sign = np.where((winner == docs[1]).fillna(False), -1.0, 1.0)
            check_sides(self.roles.kind, cells, of, docs, sign, at)
            return sign, True, 0
        if "winner" in cells:
            return decode(cells["winner"].tolist(), two, words, of["winner"], at)
        if "loser" in cells:
            cells_, name = cells["loser"].tolist(), of["loser"]
            read = decode(cells_, two, words, name, at, "is worse")
            turned = np.where(read.sign == NONE, NONE, 0.0 - read.sign)
            return turned, read.ids, read.both_bad
        return np.full(length, np.nan), False, 0

    def _check_margins(
        self, sign: np.ndarray, rows: np.ndarray, of: Mapping[str, str], at: Origin
    ) -> None:
        """Refuse margins that are neither all above 0 nor all towards the winner."""
        won = np.sign(np.where(np.isfinite(sign), sign, 0.0))
        a, b = of["a"], of["b"]
        for column in self.roles.margins:
            margin = lenient_numbers(self.frame[column])[rows]
            known = (won != 0) & np.isfinite(margin)
            if (margin > 0)[known].all() or (margin * won > 0)[known].all():
                continue
            aside = f"winner={of.get('winner') or of.get('preference') or a}"
            if self.roles.kind == WON:
                aside = f"winner={a},loser={b}"
            refuse(
                known & (margin * won <= 0),
                lambda i, c=column, m=margin: (
                    f"{c} is {m[i]:g}, which may say that the other one won"
                ),
                at,
                f"If {a} is better where it is above 0, say --columns "
                f"a={a},b={b},preference={column}; --columns {aside} leaves it aside "
                "(columns= in Python).",
            )

    def _first(
        self, column: pd.Series, docs: list[pd.Series], name: str, at: Origin
    ) -> pd.Series:
        """Read what was shown first, an id or a side; missing where it is not known."""
        if self.roles.kind != PLACED:
            return column  # ids alone, which are checked with the others
        two = docs[0].tolist(), docs[1].tolist()
        words = Words(self.words.families, self.words.columns)
        sign, *_ = decode(column.tolist(), two, words, name, at, "was shown first")
        refuse(
            sign == TIE,
            lambda i: f"expected what was shown first, found {column.tolist()[i]!r}",
            at,
            "Give one of the two documents, or nothing where it is not known.",
        )
        return docs[0].where(sign != B, docs[1]).where(sign != NONE)

    def _unknown_order(self) -> DataError:
        column, *_ = self.roles.orders
        a, b = self.roles.of["a"], self.roles.of["b"]
        named = ",".join(f"{r}={c}" for r, c in {**self.named, "first": "-"}.items())
        return DataError(
            f"has a column {column!r}, which may say that {b!r} was shown first, and "
            f"that answers mean what was shown (found columns "
            f"{listed(list(map(str, self.frame.columns)), 16)})",
            where=self.origin.name,
            mend=f"If answers name {a} and {b} whatever was shown first, say --columns "
            f"{named} (columns= in Python); else turn them before.",
        )


def _joined(parts: Sequence[_Part], origin: Origin, named: Mapping[str, str]) -> Laid:
    """Put all rows together, by row of the table, without votes that say nothing."""
    tables = [pd.DataFrame(p.columns).assign(preference=p.sign) for p in parts]
    table = pd.concat(tables, ignore_index=True)
    places = np.concatenate([np.asarray(p.origin.places) for p in parts])
    if len(parts) > 1:
        order = np.argsort(places, kind="stable")
        table, places = table.iloc[order].reset_index(drop=True), places[order]
    refused = table["preference"] == NONE
    judge = table["judge"] if "judge" in table else pd.Series("", table.index)
    counts = Counter(map(str, judge[refused].fillna("").tolist()))
    if refused.all():
        raise DataError(
            "no row says which of two documents is better",
            where=Origin(origin.name, origin.unit, places[:1]).at(0),
            mend="Fill in answers, or name another column of them (--columns).",
        )
    if "query_id" not in table:
        table["query_id"] = ONE_SET
        if "query_id" not in named:
            _tell(
                f"{origin.name}: no column names a query, so all rows are one set of "
                "comparisons; --columns query_id=- says so (columns= in Python)"
            )
    kept = (~refused).to_numpy()
    return Laid(
        table[kept].reset_index(drop=True),
        Origin(origin.name, origin.unit, places[kept]),
        dict(counts),
        sum(part.both_bad for part in parts),
    )
