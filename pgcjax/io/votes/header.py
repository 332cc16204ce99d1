"""The columns of a table of votes by their names, and which two may be its sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pgcjax.errors import DataError, listed
from pgcjax.io.schema import lenient_numbers
from pgcjax.io.votes import layouts
from pgcjax.io.votes.layouts import (
    CANONICAL,
    LAYOUTS,
    PLACED,
    WON,
    Layout,
    tokens,
)
from pgcjax.later import pd

NOTHING, EACH = "-", "*"
_TEXT = 30  # characters from which cells are text that somebody wrote, and no answers


class Pair(NamedTuple):
    """Two columns whose names differ in one word: stem, ends, columns."""

    stem: tuple[str, ...]
    ends: tuple[str, str]
    columns: tuple[str, str]


@dataclass
class Roles:
    """Which column of a table is for what.

    Attributes:
        kind: of its sides.
        ends: what tells the names of both sides apart.
        of: the column of each role; `a` and `b` are the two documents.
        layout: that it has.
        wide: aspects or judges that are columns: for each, its columns by role.
        wide_role: `aspect` or `judge`.
        ties: columns that say that it is a tie, beside wins_a and wins_b.
        orders: columns that may say what was shown first, and that nothing settles.
        margins: columns of numbers that may say by how much the winner, or side a, won.
        unread: columns that say who won, too, and are left aside.
    """

    kind: str
    ends: tuple[str, str]
    of: dict[str, str]
    layout: Layout = LAYOUTS[0]
    wide: dict[str, dict[str, str]] = field(default_factory=dict)
    wide_role: str = "aspect"
    ties: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    margins: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


class Header:
    """The columns of a table by their names, however these are spelled."""

    def __init__(self, columns: Iterable[object], where: str, named: Mapping[str, str]):
        """Split the names of all columns."""
        self.columns = [str(column) for column in columns]
        self.words = {column: tokens(column) for column in self.columns}
        self.where, self.named = where, named
        self._columns: dict[tuple[str, ...], list[str]] = {}
        for column in self.columns:
            self._columns.setdefault(self.words[column], []).append(column)

    def get(self, name: str | tuple[str, ...]) -> str | None:
        """Return the column of a name; None if there is none.

        Raises:
            DataError: there are two.
        """
        if name in self.columns and self.columns.count(str(name)) == 1:
            return str(name)
        columns = self._columns.get(tokens(name) if isinstance(name, str) else name, [])
        if len(columns) > 1:
            raise self.error(
                f"has more than one column {columns[0]!r}", "Rename or drop one."
            )
        return columns[0] if columns else None

    def first(self, names: Iterable[str], used: Iterable[str] = ()) -> str | None:
        """Return the first of these columns that is there and not used."""
        there = (self.get(name) for name in names)
        return next((c for c in there if c is not None and c not in used), None)

    def pairs(self) -> list[Pair]:
        """List pairs of columns whose names differ in one word, as sides do."""
        out = []
        for words in self._columns:
            for i, word in enumerate(words):
                for ends in (*layouts.ENDS, *layouts.RESULTS):
                    other = (*words[:i], ends[1], *words[i + 1 :])
                    if word == ends[0] and other in self._columns:
                        stem = words[:i] + words[i + 1 :]
                        out.append((stem, ends, words, other))
            if (*words, "2") in self._columns and (*words, "1") not in self._columns:
                out.append((words, ("1", "2"), words, (*words, "2")))
        return [
            Pair(stem, ends, (self.get(one) or "", self.get(other) or ""))
            for stem, ends, one, other in out
        ]

    def canonical(self) -> Pair | None:
        """Return our own columns of documents, if both are there."""
        one, other = (self.first(layouts.DOCUMENTS[side]) for side in "ab")
        if one is None or other is None:
            return None
        return Pair((), ("a", "b"), (one, other))

    def guess_sides(self, used: Iterable[str]) -> str:
        """Write the option that names two columns that may be sides."""
        queries = {*layouts.NAMES["query_id"], *layouts.QUERIES}
        free = [c for c in self.columns if c not in {*used} and c not in queries]
        if len(free) < 2:
            return "Name two that are there."
        sides = self.options(**dict(zip("ab", free[:2], strict=True)))
        return f"Name them, such as {sides} (columns= in Python)."

    def options(self, **more: str) -> str:
        """Write `--columns` with what was named and what is to be named, too."""
        parts = [f"{role}={name}" for role, name in {**self.named, **more}.items()]
        text = ",".join(parts)
        return f"--columns {text!r}" if " " in text else f"--columns {text}"

    def error(self, problem: str, mend: str) -> DataError:
        """Refuse the table."""
        columns = f"found columns {listed(self.columns, 16)}"
        return DataError(f"{problem} ({columns})", where=self.where, mend=mend)


def side_pairs(header: Header) -> list[tuple[Pair, str]]:
    """List pairs of columns that may be the two documents, and their kind."""
    pairs = []
    for pair in header.pairs():
        stem, kind = {*pair.stem}, WON if pair.ends in layouts.RESULTS else PLACED
        if stem <= layouts.NOUNS | layouts.FILL | layouts.WEAK and (
            stem or not pair.ends[0].isdigit()
        ):
            pairs.append((pair, kind))
    if (ours := header.canonical()) and all(
        ours.columns != p.columns for p, _ in pairs
    ):
        pairs.append((ours, CANONICAL))
    strong = [f for f in pairs if not {*f[0].stem} & layouts.WEAK]
    return strong or pairs


def of_votes(columns: Iterable[object]) -> bool:
    """Tell whether columns are of votes: two sides, and what may say who won."""
    header = Header(columns, "", {})
    try:
        pairs = side_pairs(header)
        if not pairs or "score" in header.columns and pairs[0][1] == CANONICAL:
            return False
        query = header.first((*layouts.NAMES["query_id"], *layouts.SURE_QUERIES))
    except DataError:
        return True
    saying = layouts.ANSWERS | layouts.CHANCE | layouts.WINS
    return bool(
        query
        or any(kind == WON for _, kind in pairs)
        or any({*words} & saying for words in header.words.values())
    )


def is_text(column: pd.Series) -> bool:
    """Tell whether cells are long: what somebody wrote, such as a judge's reasons."""
    cells = [c for c in column.tolist() if isinstance(c, str) and c]
    long = [len(cell) > _TEXT and " " in cell for cell in cells]
    return 2 * sum(long) > len(cells)


def numbers_rows(frame: pd.DataFrame, column: str | None) -> bool:
    """Tell whether a column numbers the rows from 1 on, with few numbers twice."""
    cells = lenient_numbers(frame[column]) if column else np.zeros(1)
    few = 1.1 * len({*cells.tolist()}) >= len(cells)
    return bool((cells >= 1).all() and cells.max() > 1 and few)


def mostly_numbers(column: pd.Series) -> bool:
    """Tell whether at least half of the cells are numbers."""
    return bool(np.isnan(lenient_numbers(column)).mean() <= 0.5)
