"""What judges are asked, what they answer, and how a tournament is set up."""

from dataclasses import dataclass
from typing import NamedTuple

from pgcjax.asking.choices import INFER, SIDES
from pgcjax.asking.rounds import Rules
from pgcjax.errors import UsageError, check_choice


class Answer(NamedTuple):
    """What a judge says of two documents, or of one that is bad.

    Attributes:
        query: whose documents they are.
        doc: a document.
        other: the other one; None where `doc` is bad.
        sign: 1 if `doc` is better, -1 if the other is, 0 for neither.
        first: which was shown first; None if that is not known.
        judge: a name; None if nobody is named.
    """

    query: str
    doc: str
    other: str | None
    sign: int
    first: str | None = None
    judge: str | None = None


class Request(NamedTuple):
    """A pair of documents to show to a judge.

    Attributes:
        query: whose documents they are.
        first: the document to show first.
        second: the other one.
        round: of the tournament, 1, 2, ….
        number: 1, 2, …: requests of one number are for one judge, of others for others.
        judge: who has answered the other order; "" if nobody has.
    """

    query: str
    first: str
    second: str
    round: int
    number: int
    judge: str


@dataclass(frozen=True)
class TournamentSettings:
    """What a tournament is started with.

    Attributes:
        rules: of the rounds.
        judges: how many judges are asked about a pair; most of them decide.
        sides: one of `SIDES`.
        infer: one of `INFER`.
        bad: whether a document may be called bad: then all others beat it.
        seed: of what is random.
    """

    rules: Rules
    judges: int = 1
    sides: str = SIDES[0]
    infer: str = INFER[0]
    bad: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("sides", self.sides, SIDES)
        check_choice("infer", self.infer, INFER)
        if self.judges < 1:
            raise UsageError(f"judges: expected 1 or more, found {self.judges}")

    @property
    def shown(self) -> int:
        """How often a judge sees a pair."""
        return 2 if self.sides == "both" else 1
