"""What a log of a tournament says: each query as it stands, and what was kept aside."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pgcjax.asking.asked import Answer, Request, TournamentSettings
from pgcjax.asking.log import NAME, Record
from pgcjax.asking.query import Query
from pgcjax.asking.rounds import Rules, pair_of
from pgcjax.errors import DataError, PgcjaxError

PROCEDURE = 1
"""How pairs are drawn and what answers do; a log is played by the rules of its time."""

_WRONG = KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError
"""What a record raises that is none."""

_RULES, _REST = ("k", "pairings", "final"), ("judges", "sides", "infer", "bad", "seed")


def first_record(settings: TournamentSettings, version: str) -> Record:
    """Make the first record of a log."""
    rules = {name: getattr(settings.rules, name) for name in _RULES}
    rest = {name: getattr(settings, name) for name in _REST}
    about = {"what": "start", "pgcjax": version, "procedure": PROCEDURE}
    return {**about, **rules, **rest}


class State:
    """A tournament as its log has it so far.

    Attributes:
        settings: of the tournament.
        queries: the tournament of each query.
        answers: records of answers that count, in their order.
        calls: requests sent to programs.
        program: record of the call of a program that judged last, if that went well
            and nobody else has answered since.
        cost: what programs say that their answers cost, in all.
    """

    def __init__(self, records: Iterable[Record], folder: str):
        """Play a log.

        Raises:
            DataError: it is of another version, or was changed.
        """
        records = iter(records)
        about = next(records, {})
        where = f"{folder}/{NAME}"
        if about.get("what") != "start" or about.get("procedure") != PROCEDURE:
            raise DataError(
                "is of a tournament that this version of pgcjax cannot go on with",
                where=where,
                mend=f"Its first line says which one can: {about.get('pgcjax')}.",
            )
        try:
            rules = Rules(*(about[name] for name in _RULES))
            self.settings = TournamentSettings(rules, *(about[name] for name in _REST))
        except (KeyError, TypeError, PgcjaxError) as error:
            raise DataError(
                f"its settings lack or have a wrong {error}",
                where=f"{where}:1",
                mend="Take the log back from a copy.",
            ) from None
        self.queries: dict[str, Query] = {}
        self.answers: list[Record] = []
        self.calls, self.cost = 0, 0.0
        self.program: Record | None = None
        self._aside: list[Record] = []
        self._counted: set[str] = set()
        self._kept: set[str] = set()
        self._gaps = False  # whether a line of the log was lost
        self._waiting: dict[str, list[Record]] = {}
        for i, record in enumerate(records):
            try:
                why = self._play(record)
            except _WRONG as error:
                why = f"lacks or has a wrong {error}"
            if why:
                raise DataError(
                    f"does not follow from the log above it: {why}",
                    where=f"{where}:{i + 2}",
                    mend="Take the log back from a copy.",
                )

    def _play(self, record: Record) -> str:
        kind = record["what"]
        if kind == "grades":
            query = record["query_id"]
            self.queries[query] = Query(query, record["grades"], self.settings)
        elif kind == "answer":
            why = self.give(answer_of(record))
            if not why:
                self.keep(record)
            elif self._gaps:
                waiting = self._waiting.setdefault(record["query_id"], [])
                waiting.append({**record, "why": f"{why}: a line of the log is lost"})
            else:
                return why
        elif kind == "aside":
            self.keep(record)
        elif kind == "pairs":
            pairs = [pair_of(*pair) for pair in record["pairs"]]
            query = self.queries.get(record["query_id"])
            why = query.take_pairs(pairs) if query else "its query has no grades"
            return "" if self._gaps else why
        elif kind == "calls":
            self.called(record)
        elif kind == "lost":
            self._gaps = True
        return ""

    def give(self, answer: Answer) -> str:
        """Count an answer, or say why it does not count."""
        query = self.queries.get(answer.query)
        if query is None:
            return f"query {answer.query!r} has no grades"
        for document in (answer.doc, answer.other):
            if document is not None and document not in query.grades:
                return f"document {document!r} has no grade"
        return query.apply(answer)

    def called(self, record: Record) -> None:
        """Take a record of a call of a program."""
        self.calls += record["sent"]
        self.program = None if record.get("failed") else record

    def keep(self, record: Record) -> None:
        """Take a record of an answer to what was kept."""
        self.cost += record.get("cost", 0.0)
        if record["what"] == "answer":
            self._take(record)
            if record["query_id"] in self._waiting:
                self._retry(record["query_id"])
        else:
            self._aside.append(record)
            self._kept.add(record.get("id", ""))

    def _take(self, record: Record) -> None:
        self.answers.append(record)
        if self.program and record.get("from") != self.program["command"]:
            self.program = None
        self._counted.add(record.get("id", ""))

    def _retry(self, query: str) -> None:
        """Count the answers of a query that waited for what a lost line held."""
        before = None
        while before != len(self._waiting[query]):
            waiting, self._waiting[query] = self._waiting[query], []
            before = len(waiting)
            for record in waiting:
                if self.has(record.get("id", "")):
                    continue  # its file was added again
                if self.give(answer_of(record)):
                    self._waiting[query].append(record)
                else:
                    self.cost += record.get("cost", 0.0)
                    self._take({k: v for k, v in record.items() if k != "why"})

    @property
    def asides(self) -> list[Record]:
        """List records of answers that do not count, each with `why`."""
        waiting = [r for of in self._waiting.values() for r in of]
        return [r for r in [*self._aside, *waiting] if not self.has(r.get("id", ""))]

    def has(self, id: str, aside: bool = False) -> bool:
        """Return whether a line of a file counts already, or is kept aside."""
        return bool(id) and id in (self._kept if aside else self._counted)

    def requests(
        self, at_once: int | None = None, judge: str | None = None
    ) -> list[Request]:
        """List what is to be asked, of at most so many pairs of a query."""
        return [
            request
            for query in self.queries.values()
            for request in query.requests(at_once, judge)
        ]

    def saved(self) -> Counter[Any]:
        """Count answers that nobody had to give, by rule."""
        return sum((query.saved_now() for query in self.queries.values()), Counter())

    def contradictions(self) -> list[tuple[str, str, str, str]]:
        """List answers that others contradict: query, judge, better, worse."""
        return [
            (name, *contradiction)
            for name, query in self.queries.items()
            for contradiction in query.contradictions()
        ]


def answer_of(record: Record) -> Answer:
    """Read the answer in a record."""
    value = record["preference"]
    return Answer(
        record["query_id"],
        record["doc_id"],
        record.get("other_doc_id"),
        (value > 0) - (value < 0),
        record.get("first"),
        record.get("judge"),
    )


def record_of(answer: Answer, why: str, **more: Any) -> Record:
    """Make the record of an answer; a field without a value is left out."""
    fields = {
        "what": "aside" if why else "answer",
        "why": why or None,
        "query_id": answer.query,
        "doc_id": answer.doc,
        "other_doc_id": answer.other,
        "preference": answer.sign,
        "first": answer.first,
        "judge": answer.judge,
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}
