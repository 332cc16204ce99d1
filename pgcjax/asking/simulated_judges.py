"""Judges whose answers are made up, or replayed from a file of votes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from pgcjax.errors import UsageError


class SimulatedAnswer(NamedTuple):
    """What a judge says of two documents.

    Attributes:
        sign: 1 if the document shown first is better, -1 if the other is, 0 for a tie.
        bad: those of the two that nothing is worse than.
    """

    sign: int
    bad: tuple[str, ...] = ()


class Judge(Protocol):
    """Answers questions about two documents of a query."""

    def ask(self, first: str, second: str) -> SimulatedAnswer | None:
        """Find which document is better; None if there is no answer."""
        ...


@dataclass(frozen=True)
class Errors:
    """How a simulated judge errs: shares of the answers, each from 0 to 1.

    Attributes:
        bias: to what is shown first, whatever the documents are.
        ties: of the rest, that are ties.
        error: of the rest, that name the worse document.
    """

    error: float = 0.0
    ties: float = 0.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        for name, share in vars(self).items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name}={share!r}: expected a share, 0 to 1")


@dataclass
class SimulatedJudge:
    """A judge who has a true utility of each document in mind, and may err.

    Attributes:
        truth: utility of each document; documents of equal utility tie.
        bad: documents that the judge calls bad when they are shown.
        errors: how the judge errs.
        random: source of chance.
    """

    truth: Mapping[str, float]
    bad: frozenset[str]
    errors: Errors
    random: np.random.Generator

    def ask(self, first: str, second: str) -> SimulatedAnswer:
        """Find which document is better, or that both are as good."""
        swayed, tied, wrong = self.random.random(3)
        bad = tuple(doc for doc in (first, second) if doc in self.bad)
        if swayed < self.errors.bias:
            return SimulatedAnswer(1, bad)
        sign = int(np.sign(self.truth[first] - self.truth[second]))
        if tied < self.errors.ties:
            return SimulatedAnswer(0, bad)
        return SimulatedAnswer(-sign if wrong < self.errors.error else sign, bad)


@dataclass
class ReplayedJudge:
    """The votes of a query from a file, each given once before any is given again.

    Attributes:
        votes: on each pair, ids ascending: 1 for the first, -1 for the other, 0.
        bad: documents that were called bad.
        random: source of chance, for the order of the votes on a pair.
    """

    votes: Mapping[tuple[str, str], Sequence[int]]
    bad: frozenset[str]
    random: np.random.Generator
    _left: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def ask(self, first: str, second: str) -> SimulatedAnswer | None:
        """Return the next vote on a pair; None if nobody voted on it."""
        pair = (first, second) if first < second else (second, first)
        votes = self.votes.get(pair, ())
        bad = tuple(doc for doc in (first, second) if doc in self.bad)
        if not votes:
            return SimulatedAnswer(0, bad) if bad else None
        left = self._left.setdefault(pair, [])
        if not left:
            left += self.random.permutation(np.array(votes)).tolist()
        sign = left.pop()
        return SimulatedAnswer(sign if pair == (first, second) else -sign, bad)
