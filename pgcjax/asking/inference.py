"""Inference from answers: preferences are transitive, and bad documents lose.

Source: Carterette et al., Here or there, 2008, 5.1 and 5.2.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from pgcjax.asking.rounds import Pair, pair_of

Rule = Literal["answered", "bad", "transitive"]
"""Reasons of a clear outcome: an answer; a bad document; a chain of answers."""


class Clear(NamedTuple):
    """The outcome of a pair that need not be asked for.

    Attributes:
        sign: 1 if the first document is better, -1 if the second is, 0 for neither.
        rule: Reason why the outcome is clear.
    """

    sign: int
    rule: Rule


class Closure:
    """Answers of a judge, or of the majority, on the documents of a query.

    Ties are stored, and imply nothing. Two bad documents tie. Answers take precedence
    over bad documents, and these over chains of answers. Two documents with chains in
    both directions have no clear outcome.
    """

    def __init__(self, bad: Iterable[str] = ()):
        """Take documents that are bad."""
        self._signs: dict[Pair, int] = {}
        self._bad = {*bad}
        self._below: dict[str, set[str]] = {}  # documents at the end of chains

    def answer(self, one: str, other: str, sign: int) -> None:
        """Add an answer, which replaces an earlier one to the same pair.

        Args:
            one: A document.
            other: The document it was compared with.
            sign: 1 if `one` is better, -1 if `other` is, 0 for neither.
        """
        pair = pair_of(one, other)
        sign = sign if pair == (one, other) else -sign
        before = self._signs.get(pair, 0)
        self._signs[pair] = sign
        if before and before != sign:  # a chain is broken: rebuild all
            self._below = {}
            for earlier in self._signs.items():
                self._link(*earlier)
        elif not before:
            self._link(pair, sign)

    def find_bad(self, document: str) -> None:
        """Mark a document as bad."""
        self._bad.add(document)

    def clear(self, one: str, other: str) -> Clear | None:
        """Find which of two documents is better, where that is clear."""
        pair = pair_of(one, other)
        if (sign := self._signs.get(pair)) is not None:
            return Clear(sign if pair == (one, other) else -sign, "answered")
        if one in self._bad or other in self._bad:
            return Clear((other in self._bad) - (one in self._bad), "bad")
        down, up = self._leads(one, other), self._leads(other, one)
        return Clear(1 if down else -1, "transitive") if down != up else None

    def contradictions(self) -> list[tuple[str, str]]:
        """List the answers, better document first, that other answers contradict.

        These are answers whose worse document has a chain of answers to the better
        one, or whose better document alone is bad.
        """
        contradicted = []
        for pair, sign in sorted(self._signs.items()):
            better, worse = pair if sign > 0 else pair[::-1]
            bad = better in self._bad and worse not in self._bad
            if sign and (bad or self._leads(worse, better)):
                contradicted.append((better, worse))
        return contradicted

    def _leads(self, one: str, other: str) -> bool:
        return other in self._below.get(one, ())

    def _link(self, pair: Pair, sign: int) -> None:
        """Extend all chains that end at the better document to the worse one."""
        better, worse = pair if sign > 0 else pair[::-1]
        if not sign or self._leads(better, worse):
            return
        reached = {worse, *self._below.get(worse, ())}
        self._below.setdefault(better, set())
        for document, below in self._below.items():
            if document == better or better in below:
                below |= reached
