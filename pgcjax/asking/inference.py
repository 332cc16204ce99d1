"""What answers imply: preferences are transitive, and all beats what is bad.

Source: Carterette et al., Here or there, 2008, 5.1 and 5.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pgcjax.asking.rounds import Pair, pair_of

Rule = Literal["answered", "bad", "transitive"]
"""Why an outcome is clear: it was answered; a document is bad; a chain leads there."""

RULES: tuple[Rule, ...] = ("answered", "bad", "transitive")


@dataclass(frozen=True)
class Clear:
    """The outcome of a pair that need not be asked for.

    Attributes:
        sign: 1 if the first document is better, -1 if the second is, 0 for neither.
        rule: why it is clear.
    """

    sign: int
    rule: Rule


class Closure:
    """What a judge, or the majority, thinks of the documents of a query.

    Ties are kept, and imply nothing. Two bad documents tie. An answer goes before what
    bad documents imply, and that before chains of answers. A chain says nothing of two
    documents where another one leads back.
    """

    def __init__(self) -> None:
        self._signs: dict[Pair, int] = {}
        self._bad: set[str] = set()
        self._place: dict[str, int] = {}
        # Bit j of below[i] says that a chain leads from document i down to j.
        self._below: list[int] = []
        self._above: list[int] = []

    def answer(self, one: str, other: str, sign: int) -> None:
        """Take an answer, in place of an earlier one to the same pair.

        Args:
            one: a document.
            other: the document it was compared with.
            sign: 1 if `one` is better, -1 if `other` is, 0 for neither.
        """
        pair = pair_of(one, other)
        sign = sign if pair == (one, other) else -sign
        before = self._signs.get(pair, 0)
        self._signs[pair] = sign
        if before and before != sign:  # a chain is gone: begin again
            self._place, self._below, self._above = {}, [], []
            for two, earlier in self._signs.items():
                self._link(two, earlier)
        elif not before:
            self._link(pair, sign)

    def find_bad(self, document: str) -> None:
        """Take a document for bad."""
        self._bad.add(document)

    def clear(self, one: str, other: str) -> Clear | None:
        """Find which of two documents is better, where that is clear."""
        pair = pair_of(one, other)
        turn = 1 if pair == (one, other) else -1
        if (sign := self._signs.get(pair)) is not None:
            return Clear(turn * sign, "answered")
        if bad := (other in self._bad) - (one in self._bad):
            return Clear(bad, "bad")
        if one in self._bad:
            return Clear(0, "bad")
        down, up = self._leads(one, other), self._leads(other, one)
        return Clear(1 if down else -1, "transitive") if down != up else None

    def contradictions(self) -> list[tuple[str, str]]:
        """List the answers, better document first, that others contradict.

        A chain of answers leads from the worse document to the better one, or the
        better one alone is bad.
        """
        contradicted = []
        for (one, other), sign in sorted(self._signs.items()):
            better, worse = (one, other) if sign > 0 else (other, one)
            bad = better in self._bad and worse not in self._bad
            if sign and (bad or self._leads(worse, better)):
                contradicted.append((better, worse))
        return contradicted

    def _leads(self, one: str, other: str) -> bool:
        i, j = self._place.get(one), self._place.get(other)
        return i is not None and j is not None and bool(self._below[i] >> j & 1)

    def _link(self, pair: Pair, sign: int) -> None:
        """Lead all chains that end at the better document on to the worse one."""
        if not sign:
            return
        better, worse = pair if sign > 0 else pair[::-1]
        i, j = self._of(better), self._of(worse)
        if self._below[i] >> j & 1:
            return
        from_i, to_j = self._above[i] | 1 << i, self._below[j] | 1 << j
        for x in _bits(from_i):
            self._below[x] |= to_j
        for y in _bits(to_j):
            self._above[y] |= from_i

    def _of(self, document: str) -> int:
        if document not in self._place:
            self._place[document] = len(self._below)
            self._below.append(0)
            self._above.append(0)
        return self._place[document]


def close(signs: Mapping[Pair, int], bad: frozenset[str] = frozenset()) -> Closure:
    """Make the closure of answers to pairs, and of documents that are bad."""
    closure = Closure()
    for (one, other), sign in signs.items():
        closure.answer(one, other, sign)
    for document in bad:
        closure.find_bad(document)
    return closure


def _bits(number: int):
    """List the places of the ones, from the lowest."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
