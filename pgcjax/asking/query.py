"""The tournament of one query: open requests, and inferences from its answers.

Its state depends on the answers and their order alone.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from pgcjax.asking.choices import INFER, SIDES
from pgcjax.asking.inference import Clear, Closure, Rule
from pgcjax.asking.rounds import (
    Draw,
    Pair,
    Round,
    Rules,
    Top,
    advance,
    begin,
    count_wins,
    pair_of,
)
from pgcjax.errors import UsageError, check_choice

Judge = tuple[str, int]
"""Name and 0; for a judge without a name, "" and the number 1, 2, … of the vote."""

_MAJORITY: Judge = ("", 0)
Outcomes = dict[Pair, tuple[int, dict[Judge, Clear]]]
"""Sign of each pair, and the outcomes inferred for it, by judge."""


class Answer(NamedTuple):
    """Vote of a judge on two documents, or on a bad one.

    Attributes:
        query: Query of the documents.
        doc: A document.
        other: The other document; None where `doc` is bad.
        sign: 1 if `doc` is better, -1 if the other is, 0 for neither.
        first: Document shown first; None if unknown.
        judge: Name of the judge; None without a name.
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
        query: Query of the documents.
        first: Document to show first.
        second: The other document.
        round: Round of the tournament, from 1.
        number: Number of the judge of the pair, from 1: different numbers are for
            different judges.
        judge: Judge who has answered the other order; "" if nobody has.
    """

    query: str
    first: str
    second: str
    round: int
    number: int
    judge: str


@dataclass(frozen=True)
class TournamentSettings:
    """Settings with which a tournament starts.

    Attributes:
        rules: Rules of the rounds.
        judges: Number of judges of a pair; their majority decides.
        sides: One of `SIDES`.
        infer: One of `INFER`.
        bad: Whether a document may be called bad: then all others beat it.
        seed: Seed of the random choices.
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
        """Number of times that a judge sees a pair."""
        return 2 if self.sides == "both" else 1


class Query:
    """The tournament of one query.

    Attributes:
        query: Id of the query.
        grades: Grades of all its documents.
        settings: Settings of the tournament.
        round: Open round; None when all is decided.
        top: Best documents, once all is decided.
        played: Completed rounds, each with the outcomes of its pairs.
        saved: Number of answers that inference saved in completed rounds, by rule.
    """

    def __init__(
        self, query: str, grades: Mapping[str, float], settings: TournamentSettings
    ):
        self.query, self.grades, self.settings = query, dict(grades), settings
        self.played: list[tuple[Round, Outcomes]] = []
        self.saved: Counter[Rule] = Counter()
        self.round: Round | None = None
        self.top: Top | None = None
        self._draw = Draw(settings.seed, query)
        self._closures: dict[Judge, Closure] = {}
        self._bad: dict[str, set[Judge]] = {}
        self._open(begin(self.grades, settings.rules, self._draw))
        self._play()

    def apply(self, answer: Answer) -> str:
        """Count an answer, and open the next round if it completes one.

        Returns:
            Reason why the answer does not count; "" if it does.
        """
        if self.round is None:
            return "the query is decided already"
        reason = (
            self._find_bad(answer, self.round)
            if answer.other is None
            else self._vote(answer, pair_of(answer.doc, answer.other))
        )
        if not reason:
            self._play()
        return reason

    def take_pairs(self, pairs: Iterable[Pair]) -> str:
        """Compare these pairs in the open round, in place of those that were drawn.

        Returns:
            Reason why they cannot be compared; "" if they can.
        """
        played, pairs = self.round, tuple(dict.fromkeys(pairs))
        if played is None:
            return "the query is decided already"
        if any(self._votes.values()):
            return f"round {played.number} has answers already"
        inside = {*played.documents}
        if strange := next((d for p in pairs for d in p if d not in inside), None):
            return f"document {strange!r} is not in round {played.number}"
        times = Counter(d for pair in pairs for d in pair)
        others = len(played.documents) - 1
        needed = others if played.last else min(self.settings.rules.pairings, others)
        if rare := next((d for d in played.documents if times[d] < needed), None):
            return (
                f"document {rare!r} is in {times[rare]} of the {needed} comparisons "
                f"that round {played.number} needs of it"
            )
        self._open(replace(played, pairs=pairs))
        self._play()
        return ""

    def requests(
        self, at_once: int | None = None, judge: str | None = None
    ) -> list[Request]:
        """List the open requests, in random order.

        Args:
            at_once: Most pairs to list.
            judge: Name of the judge whose requests alone are listed.
        """
        if self.round is None:
            return []
        number = self.round.number
        listed, asked = [], 0
        for pair in self._order:
            if asked == at_once:
                break
            if pair not in self._outcomes:
                missing = [*self._missing(pair, number, judge)]
                listed += [(m[0], asked, *m[1:], pair) for m in missing]
                asked += bool(missing)
        return [
            Request(self.query, first, pair[first == pair[0]], number, vote, who)
            for _, _, vote, first, who, pair in sorted(listed)
        ]

    def _missing(
        self, pair: Pair, number: int, judge: str | None
    ) -> Iterator[tuple[int, int, str, str]]:
        """Yield turn, vote, the document to show first, and who has begun the vote."""
        turned, votes = self._draw("side", number, *pair), self._votes[pair]
        complete = self._complete(pair)
        done = {*complete, *self._imply(pair, complete)} - {_MAJORITY}
        vote = len(done)
        for who, orders in votes.items():
            if who in done:
                continue
            vote += 1
            if who[0] == judge or (judge is None and vote <= self.settings.judges):
                for first in pair:
                    if first not in orders:
                        yield 1, vote, first, who[0]
        if judge is not None and (judge, 0) in (votes.keys() | done):
            return
        last = self.settings.judges if judge is None else vote + 1
        for fresh in range(vote + 1, min(last, self.settings.judges) + 1):
            for showing in range(self.settings.shown):
                yield showing, fresh, pair[(turned + fresh + showing) & 1], ""

    def contradictions(self) -> list[tuple[str, str, str]]:
        """List answers that others contradict: judge, the better document, the worse.

        The judge is "" for the majority's answers.
        """
        each = self.settings.infer == "judge"
        closures = self._closures if each else {_MAJORITY: self._majority()}
        return sorted(
            (judge, *pair)
            for (judge, _), closure in closures.items()
            for pair in closure.contradictions()
        )

    def rounds(self) -> list[tuple[Round, Outcomes]]:
        """List all rounds with the outcomes of their pairs, the open one last."""
        open_ = [(self.round, self._outcomes)] if self.round else []
        return [*self.played, *open_]

    def wins(self) -> dict[str, float]:
        """Count the wins of each document in all rounds; without any it is left out."""
        wins: Counter[str] = Counter()
        for played, outcomes in self.rounds():
            signs = {pair: sign for pair, (sign, _) in outcomes.items()}
            wins.update(count_wins(played.documents, signs))
        return {document: won for document, won in wins.items() if won > 0}

    def saved_now(self) -> Counter[Rule]:
        """Count the answers that inference saved, in the open round too."""
        saved, shown = Counter(self.saved), self.settings.shown
        for pair, (_, implied) in self._outcomes.items():
            given = {judge: len(orders) for judge, orders in self._votes[pair].items()}
            for judge, clear in implied.items():
                spared = shown - given.get(judge, 0)
                if judge == _MAJORITY:
                    spared = max(0, shown * self.settings.judges - sum(given.values()))
                saved[clear.rule] += spared
        return +saved

    def _majority(self) -> Closure:
        """Compute the closure of the majority's last answers, over all rounds."""
        often = (d for d, by in self._bad.items() if 2 * len(by) > self.settings.judges)
        closure = Closure(often)
        for _, outcomes in self.rounds():
            for pair, (sign, rules) in outcomes.items():
                if not rules:
                    closure.answer(*pair, sign)
        return closure

    def _vote(self, answer: Answer, pair: Pair) -> str:
        if pair not in self._votes:
            return "nobody asked for it"
        votes, both = self._votes[pair], self.settings.sides == "both"
        orders = [answer.doc, pair[answer.doc == pair[0]]] if both else [""]
        if both and answer.first is not None:
            orders = [answer.first]
        if answer.judge is not None:
            judges = [(answer.judge, 0)]
        elif len(self._complete(pair)) < self.settings.judges:
            judges = [("", i + 1) for i in range(self.settings.judges)]
        else:
            return "the pair has its answers already"
        sign = answer.sign if answer.doc == pair[0] else -answer.sign
        for judge in judges:
            for order in orders:
                if order not in votes.get(judge, ()):
                    votes.setdefault(judge, {})[order] = sign
                    view = self._complete(pair).get(judge)
                    if self.settings.infer == "judge" and view is not None:
                        self._closure(judge).answer(*pair, view)
                    self._decide(pair)
                    return ""
        if answer.judge is None:
            return "the pair has its answers already"
        repeats = sign in (votes[judges[0]][order] for order in orders)
        return f"the same judge said {'so' if repeats else 'otherwise'} before"

    def _find_bad(self, answer: Answer, played: Round) -> str:
        if not self.settings.bad:
            return "it calls a document bad, and the tournament was started without bad"
        if answer.doc not in played.documents:
            return "it calls a document bad that is not in the open round"
        judges = self._bad.setdefault(answer.doc, set())
        judge = answer.judge or "", 0 if answer.judge else len(judges) + 1
        if judge in judges:
            return "the same judge said so before"
        judges.add(judge)
        if self.settings.infer == "judge":
            self._closure(judge).find_bad(answer.doc)
        elif 2 * len(judges) > self.settings.judges:
            self._closure(_MAJORITY).find_bad(answer.doc)
        for pair, (_, implied) in [*self._outcomes.items()]:
            # Two bad documents tie: the outcome changes if the other one was bad.
            if answer.doc in pair and "bad" in {c.rule for c in implied.values()}:
                del self._outcomes[pair]
        return ""

    def _closure(self, judge: Judge) -> Closure:
        return self._closures.setdefault(judge, Closure())

    def _complete(self, pair: Pair) -> dict[Judge, int]:
        """Return each judge's answer on a pair; a tie if both orders differ."""
        return {
            judge: min(signs) if min(signs) == max(signs) else 0
            for judge, orders in self._votes[pair].items()
            if len(signs := orders.values()) == self.settings.shown
        }

    def _imply(self, pair: Pair, complete: Mapping[Judge, int]) -> dict[Judge, Clear]:
        """Infer what the majority, or judges who have not voted, would answer."""
        return {
            judge: clear
            for judge, closure in self._closures.items()
            if judge not in complete and (clear := closure.clear(*pair)) is not None
        }

    def _decide(self, pair: Pair) -> None:
        """Decide a pair if it has all its votes, or if other answers imply it.

        An implied outcome stays, unless votes on the pair itself contradict it.
        """
        complete = self._complete(pair)
        wanted = self.settings.judges
        if len(complete) >= wanted:
            sign = _most(complete.values())
            self._outcomes[pair] = sign, {}
            if self.settings.infer == "majority":
                self._closure(_MAJORITY).answer(*pair, sign)
            return
        if pair in self._outcomes:
            earlier = self._outcomes[pair][1]
            implied = {j: clear for j, clear in earlier.items() if j not in complete}
        else:
            implied = self._imply(pair, complete)
        if _MAJORITY in implied:
            self._outcomes[pair] = implied[_MAJORITY].sign, implied
        elif len(complete) + len(implied) >= wanted:
            signs = [*complete.values(), *(clear.sign for clear in implied.values())]
            self._outcomes[pair] = _most(signs), implied

    def _play(self) -> None:
        """Decide all pairs that can be; open the next round when none is open."""
        while self.round is not None:
            if self._closures:
                for pair in self.round.pairs:
                    if pair not in self._outcomes:
                        self._decide(pair)
            if len(self._outcomes) < len(self.round.pairs):
                return
            self._close(self.round)

    def _close(self, played: Round) -> None:
        signs = {pair: sign for pair, (sign, _) in self._outcomes.items()}
        wins = count_wins(played.documents, signs)
        self.played.append((played, self._outcomes))
        self.saved = self.saved_now()
        self._open(advance(played, wins, self.settings.rules, self._draw))

    def _open(self, opened: Round | Top) -> None:
        self.round, self.top, pairs, number = None, None, (), 0
        if isinstance(opened, Round):
            self.round, pairs, number = opened, opened.pairs, opened.number
        else:
            self.top = opened
        draws = {pair: self._draw("order", number, *pair) for pair in pairs}
        self._order = sorted(pairs, key=lambda pair: (draws[pair], pair))
        self._votes: dict[Pair, dict[Judge, dict[str, int]]] = {p: {} for p in pairs}
        self._outcomes: Outcomes = {}


def _most(signs: Collection[int]) -> int:
    """Return the majority's answer on a pair; a tie if two answers are as frequent."""
    (most, n), *others = Counter(signs).most_common(2)
    return 0 if others and others[0][1] == n else most
