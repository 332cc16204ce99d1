"""The reader of tables of votes: any layout in, canonical preferences out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from pgcjax.errors import DataError, DataWarning, listed
from pgcjax.io.schema import Origin, ids, lenient_numbers, numbers, refuse
from pgcjax.io.votes import layouts
from pgcjax.io.votes.columns import NOTHING, Roles, find_roles
from pgcjax.io.votes.decode import Words, decode
from pgcjax.io.votes.layouts import CANONICAL, PLACED, WON
from pgcjax.io.votes.probabilities import probability
from pgcjax.io.votes.words import (
    ACCEPTED,
    NEUTRAL,
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
_KEPT = ("query_id", "judge", "aspect", "weight", "seconds", "time")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "yes": 1.0, "no": 0.0, "": 0.0}
_WON = {*("win", "won", "wins", "winner", "w", "a", "a wins")}
_MOST_KEYS = 20  # of objects whose keys are columns; of more, keys are data


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
    _check_header(frame, roles, origin)
    read = _Reader(frame, origin, roles, named, meant, signed)
    if meant and not read.has_words:
        raise DataError(
            f"answers say what words mean, but no column has any: the layout is "
            f"{roles.layout.name}",
            where=origin.name,
            mend="Leave them out, or name the column: --columns winner=… (columns= in "
            "Python).",
        )
    if roles.unread:
        _tell(
            f"{origin.name}: votes are read, and not {listed(list(roles.unread))}; "
            "--columns winner=… reads others (columns= in Python)"
        )
    return _joined(read.parts(), origin, named)


def _check_header(frame: pd.DataFrame, roles: Roles, origin: Origin) -> None:
    """Refuse a row that names columns, as where two files were put together."""
    columns = [roles.of[r] for r in ("query_id", "a", "b") if r in roles.of]
    names = {str(name) for name in frame.columns}
    bad = np.ones(len(frame), bool)
    for column in columns:
        bad &= frame[column].isin(names).to_numpy()
        if not bad.any():
            return
    refuse(
        bad if len(columns) > 2 else bad[:0],
        lambda i: (
            f"expected a vote, found the names of columns, such as {columns[1]!r}"
        ),
        origin,
        "Read files with different headers by themselves, or remove the line.",
    )


def _tell(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=6)


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


def answer_columns(
    frame: pd.DataFrame, roles: Roles, meant: Mapping[str, float]
) -> list[str]:
    """List the columns without a role that hold nothing but answers."""
    words, used = _words(roles, meant), {*roles.of.values()}
    found = []
    for name in map(str, frame.columns):
        if name in used:
            continue
        signs = {words.sign(normal(plain(cell))) for cell in frame[name].tolist()}
        if {np.sign(s) for s in signs} & {A, B} and not any(s != s for s in signs):
            if signs != {NONE}:
                found.append(name)
    return found


def _words(roles: Roles, meant: Mapping[str, float]) -> Words:
    columns = roles.of["a"], roles.of["b"]
    return Words(ACCEPTED.get(roles.ends, ()), columns, meant)


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
        self.words = _words(roles, meant)

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
        truth = [[_TRUTH.get(normal(plain(c))) for c in self.frame[x]] for x in columns]
        flags = all(cell is not None for cells in truth for cell in cells)
        counts = np.array(
            truth if flags else [lenient_numbers(self.frame[x]) for x in columns], float
        )
        listing, at = ", ".join(columns), self.origin
        refuse(
            ~((counts >= 0) & (counts % 1 == 0)).all(axis=0),
            lambda i: f"expected whole numbers of wins as {listing}",
            at,
            "Name the column that says who won: --columns winner=… (columns= in "
            "Python).",
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
        cells, rows = _exploded(cells, of, self.origin)
        at = Origin(self.origin.name, self.origin.unit, _places(self.origin, rows))
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
            sign = self._tied(cells["tie"], sign, of["tie"], at)
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
            sign = self._signed(cells["preference"], of["preference"], docs, at)
            if self.roles.kind == WON or {"winner", "loser"} & {*cells}:
                self._check_sides(cells, of, docs, sign, at)
            return sign, self.roles.kind == WON, 0
        if self.roles.kind == WON:
            sign = np.ones(length)
            if "outcome" in cells:
                sign = self._outcome(cells["outcome"], of["outcome"], at)
            return sign, True, 0
        if "winner" in cells and "loser" in cells and not words.given:
            winner = ids(cells["winner"], at)
            sign = np.where((winner == docs[1]).fillna(False), -1.0, 1.0)
            self._check_sides(cells, of, docs, sign, at)
            return sign, True, 0
        if "winner" in cells:
            return decode(cells["winner"].tolist(), two, words, of["winner"], at)
        if "loser" in cells:
            cells_, name = cells["loser"].tolist(), of["loser"]
            read = decode(cells_, two, words, name, at, "is worse")
            turned = np.where(read.sign == NONE, NONE, 0.0 - read.sign)
            return turned, read.ids, read.both_bad
        return np.full(length, np.nan), False, 0

    def _signed(
        self, column: pd.Series, name: str, docs: list[pd.Series], at: Origin
    ) -> np.ndarray:
        """Read signed numbers; refuse those that may be places or probabilities."""
        sign = numbers(column, "preference", at)
        if self.roles.kind == WON or {"winner", "loser"} & {*self.roles.of}:
            return sign  # who won is said besides, and compared
        judged = sign[docs[1].notna().to_numpy()]
        if self.signed or (judged < 0).any() or np.isin(judged, (0.0, 1.0)).all():
            return sign
        whole = (judged % 1 == 0).all()
        if whole and np.isin(judged, (1.0, 2.0)).all():
            more = "--answers a=1,b=2 (places)"
        elif (judged <= 1).all():
            more = f"--columns probability={name} (that the first is better)"
        else:
            more = "--answers a=…,b=…,tie=…"
        raise DataError(
            f"{name} is never below 0, and not always 0 or 1: it may be a place, a "
            "probability or a strength",
            where=at.name,
            mend=f"Say what it is: {more}, or --columns preference={name} (above 0, the "
            "first is better, as strongly; columns= and answers= in Python).",
        )

    def _outcome(self, column: pd.Series, name: str, at: Origin) -> np.ndarray:
        """Read whether the winner of a row won, or it was a tie."""
        words = [normal(plain(cell)) for cell in column]
        sign = np.array([1.0 if w in _WON else NEUTRAL.get(w, np.nan) for w in words])
        a, b = self.roles.of["a"], self.roles.of["b"]
        refuse(
            np.isnan(sign) | np.isinf(sign),
            lambda i: (
                f"{name} {column.tolist()[i]!r} may change which of {a} and {b} won"
            ),
            at,
            f"Say what it means: --columns a={a},b={b},winner={name} --answers "
            f"a=…,b=…,tie=…; or that {a} won in all rows: --columns "
            f"winner={a},loser={b} (columns= and answers= in Python).",
        )
        return sign

    def _check_sides(
        self,
        cells: Mapping[str, pd.Series],
        of: Mapping[str, str],
        docs: list[pd.Series],
        sign: np.ndarray,
        at: Origin,
    ) -> None:
        """Refuse a winner or loser that is another than the rest of the row says."""
        if self.roles.kind == WON:
            cells = {"winner": cells["a"], "loser": cells["b"], **cells}
            of = {**of, "winner": of["a"], "loser": of["b"]}
        rest = ["preference"] if self.roles.kind == WON else ["a", "b", "preference"]
        for name, pair in (("winner", docs), ("loser", docs[::-1])):
            if name not in cells:
                continue
            said = ids(cells[name], at, empty="preference" in cells)
            signs = pd.Series(sign)
            meant = pair[0].where(signs > 0, pair[1]).where(signs != 0)

            def problem(i: int, name: str = name, said: pd.Series = said) -> str:
                other = "loser" if name == "winner" else "winner"
                more = ([other] if self.roles.kind == WON else []) + rest
                shown = (
                    (
                        of[r],
                        float(sign[i]) if r == "preference" else cells[r].tolist()[i],
                    )
                    for r in more
                    if r in cells
                )
                words = (
                    f"{c} is {v!r}"
                    if v == v and v is not None and v != ""
                    else f"{c} is empty"
                    for c, v in shown
                )
                return f"{of[name]} is {said[i]!r}, but " + " and ".join(words)

            refuse(
                (said.notna() & ~(said == meant).fillna(False)).to_numpy(bool),
                problem,
                at,
                "Mend the row, or rename a column that means something else.",
            )

    def _tied(
        self, column: pd.Series, sign: np.ndarray, name: str, at: Origin
    ) -> np.ndarray:
        """Make ties of the rows that a flag says are tied."""
        words = [normal(plain(cell)) for cell in column]
        flag = np.array([_TRUTH.get(word, np.nan) for word in words])
        refuse(
            np.isnan(flag),
            lambda i: f"expected true or false as {name}, found {column.tolist()[i]!r}",
            at,
            f"If {name} says nothing of ties, say --columns tie=- (columns= in Python).",
        )
        there = np.array([word != "" for word in words])
        refuse(
            (sign == TIE) & (flag == 0) & there,
            lambda i: f"the row says a tie, but {name} that it is none",
            at,
            "Mend the row.",
        )
        return np.where(flag == 1, TIE, sign)

    def _first(
        self, column: pd.Series, docs: list[pd.Series], name: str, at: Origin
    ) -> pd.Series:
        """Read what was shown first, an id or a side; missing where it is not known."""
        two = docs[0].tolist(), docs[1].tolist()
        words = Words(self.words.families, self.words.columns)
        if self.roles.kind == CANONICAL:
            words = Words((), self.words.columns)
        text = [plain(cell) for cell in column]
        bad = [t not in ("", x, y) for t, x, y in zip(text, *two, strict=True)]
        if self.roles.kind != PLACED:
            refuse(
                np.array(bad),
                lambda i: (
                    f"first is {text[i]!r}, but {two[0][i]!r} and {two[1][i]!r} are "
                    "compared"
                ),
                at,
                "Give the document that was shown first, or nothing where it is not "
                "known.",
            )
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


def _places(origin: Origin, rows: np.ndarray) -> np.ndarray:
    return np.asarray(origin.places)[rows] if len(origin.places) else rows + 1


def _exploded(
    cells: dict[str, pd.Series], of: Mapping[str, str], origin: Origin
) -> tuple[dict[str, pd.Series], np.ndarray]:
    """Make a row of each vote in lists of votes, and number the row it came from."""
    lists = [
        role
        for role, c in cells.items()
        if c.dtype == object and any(_is_list(x) for x in c.tolist())
    ]
    saying = [role for role in lists if role in layouts.SAYING]
    if "judge" in lists and not saying:
        # One answer of several judges, as of gold labels: no single one's.
        cells = {role: c for role, c in cells.items() if role != "judge"}
        lists.remove("judge")
    if not lists:
        return cells, np.arange(len(next(iter(cells.values()))))
    if not saying or {"a", "b", "query_id"} & {*lists}:
        role = next(r for r in lists if not saying or r in ("a", "b", "query_id"))
        refuse(
            np.array([_is_list(x) for x in cells[role]]),
            lambda i: f"expected one {of[role]}, found a list",
            origin,
            "Give each vote a row of its own.",
        )
    lengths = [[len(x) if _is_list(x) else -1 for x in cells[r]] for r in lists]
    main = lists.index("winner") if "winner" in lists else 0
    for role, length in zip(lists, lengths, strict=True):
        refuse(
            (np.array(length) != np.array(lengths[main])) | (np.array(length) < 0),
            lambda i, r=role, n=length: (
                f"expected lists of one length, found {max(lengths[main][i], 0)} of "
                f"{of[lists[main]]} and {max(n[i], 0) or 'no list'} of {of[r]}"
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
            mend="Name the column that does: --columns winner=… (columns= in Python).",
        )
    if "query_id" not in table:
        table["query_id"] = ONE_SET
        if "query_id" not in named:
            _tell(
                f"{origin.name}: no column names a query, so all rows are one set of "
                "comparisons; --columns query_id=… names one (columns= in Python)"
            )
    kept = (~refused).to_numpy()
    return Laid(
        table[kept].reset_index(drop=True),
        Origin(origin.name, origin.unit, places[kept]),
        dict(counts),
        sum(part.both_bad for part in parts),
    )
