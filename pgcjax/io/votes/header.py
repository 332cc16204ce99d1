"""The columns of a table of votes by their names, and the pairs that may be sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import NamedTuple

from pgcjax.errors import DataError, listed
from pgcjax.io.votes import layouts
from pgcjax.io.votes.layouts import CANONICAL, PLACED, WON, tokens

_IN_PYTHON = "(columns= in Python)."


class Pair(NamedTuple):
    """Two columns whose names differ in one word: stem, ends, columns."""

    stem: tuple[str, ...]
    ends: tuple[str, str]
    columns: tuple[str, str]


class Header:
    """The columns of a table by their names, in any spelling."""

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
            DataError: there are two such columns.
        """
        if name in self.columns and self.columns.count(str(name)) == 1:
            return str(name)
        columns = self._columns.get(tokens(name) if isinstance(name, str) else name, [])
        if len(columns) > 1:
            raise self.error(
                f"has more than one column {columns[0]!r}", "Rename or drop one."
            )
        return columns[0] if columns else None

    def first(self, names: Iterable[str], taken: Iterable[str] = ()) -> str | None:
        """Return the first of these columns that exists and is not taken."""
        there = (self.get(name) for name in names)
        return next((c for c in there if c is not None and c not in taken), None)

    def family(self, end: str) -> dict[str, str]:
        """Return columns such as `coverage_vote` by the words before the end."""
        last = tokens(end)
        return {
            "_".join(words[: -len(last)]): self.get(words) or ""
            for words in self._columns
            if len(words) > len(last) and words[-len(last) :] == last
        }

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
        """Return the canonical columns of documents, if both exist."""
        one, other = (self.first(layouts.DOCUMENTS[side]) for side in "ab")
        if one is None or other is None:
            return None
        return Pair((), ("a", "b"), (one, other))

    def sides(self) -> list[tuple[Pair, str]]:
        """List pairs of columns that may be the two documents, and their kind."""
        pairs = []
        for pair in self.pairs():
            stem, kind = {*pair.stem}, WON if pair.ends in layouts.RESULTS else PLACED
            if stem <= layouts.NOUNS | layouts.FILL | layouts.WEAK and (
                stem or not pair.ends[0].isdigit()
            ):
                pairs.append((pair, kind))
        if (ours := self.canonical()) and all(
            ours.columns != p.columns for p, _ in pairs
        ):
            pairs.append((ours, CANONICAL))
        return [s for s in pairs if not {*s[0].stem} & layouts.WEAK] or pairs

    def options(self, **more: str) -> str:
        """Write `--columns` with the columns that were named, and `more`."""
        parts = [f"{role}={name}" for role, name in {**self.named, **more}.items()]
        return f"--columns {quote(','.join(parts))}"

    def error(self, problem: str, mend: str) -> DataError:
        """Return the error of a table; options in its advice get their Python names."""
        if "--columns" in mend:
            mend += f" {_IN_PYTHON}"
        columns = f"found columns {listed(self.columns, 16)}"
        return DataError(f"{problem} ({columns})", where=self.where, mend=mend)


def of_votes(columns: Iterable[object]) -> bool:
    """Return whether columns are of votes: two sides, and a possible answer."""
    header = Header(columns, "", {})
    try:
        pairs = header.sides()
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
