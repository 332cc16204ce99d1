"""State of a tournament, read from its log: queries, and answers set aside."""

from collections import Counter
from collections.abc import Iterable
from shlex import quote
from typing import Any, get_args

from pgcjax.asking.inference import Rule
from pgcjax.asking.log import NAME, Record
from pgcjax.asking.query import Answer, Query, Request, TournamentSettings
from pgcjax.asking.rounds import Rules, pair_of
from pgcjax.errors import DataError, PgcjaxError, counted

PROCEDURE = 1
"""Version of the rules of draws and answers; a log is played by its own version."""

_WRONG = KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError
"""Errors of a malformed record."""

_RULES, _REST = ("k", "pairings", "final"), ("judges", "sides", "infer", "bad", "seed")
_BECAUSE = {
    "answered": "answered in an earlier round",
    "bad": "a document is bad",
    "transitive": "a chain of answers leads there",
}


def first_record(settings: TournamentSettings, version: str) -> Record:
    """Make the first record of a log."""
    rules = {name: getattr(settings.rules, name) for name in _RULES}
    rest = {name: getattr(settings, name) for name in _REST}
    about = {"what": "start", "pgcjax": version, "procedure": PROCEDURE}
    return {**about, **rules, **rest}


def answer_record(answer: Answer, **more: Any) -> Record:
    """Make the record of an answer; a field without a value is left out."""
    fields = {
        "what": "answer",
        "query_id": answer.query,
        "doc_id": answer.doc,
        "other_doc_id": answer.other,
        "preference": answer.sign,
        "first": answer.first,
        "judge": answer.judge,
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


def aside(record: Record, why: str) -> Record:
    """Make the record of an answer that does not count."""
    rest = {k: v for k, v in record.items() if k != "what" and v is not None}
    return {"what": "aside", "why": why, **rest}


class State:
    """A tournament, as its log has it so far.

    Attributes:
        settings: Settings of the tournament.
        queries: Tournament of each query.
        answers: Records of answers that count, in their order.
        calls: Number of requests sent to programs.
        program: Record of the last call of a program, if it succeeded and nobody else
            has answered since.
        cost: Total cost of answers, as programs report it.
    """

    def __init__(self, records: Iterable[Record], folder: str):
        """Play a log.

        Raises:
            DataError: the log has another version, or was changed.
        """
        records = iter(records)
        where = f"{folder}/{NAME}"
        self.settings = _settings(next(records, {}), where)
        self.queries: dict[str, Query] = {}
        self.answers: list[Record] = []
        self.calls, self.cost = 0, 0.0
        self.program: Record | None = None
        self._aside: list[Record] = []
        self._ids: dict[str, set[str]] = {"answer": set(), "aside": set()}
        self._gaps = False  # whether a line of the log was lost
        self._waiting: list[Record] = []
        for number, record in enumerate(records, 2):
            try:
                why = self._play(record)
            except _WRONG as error:
                why = f"lacks or has a wrong {error}"
            if why:
                raise DataError(
                    f"contradicts the log above it: {why}",
                    where=f"{where}:{number}",
                    mend="Restore the log from a copy.",
                )

    def _play(self, record: Record) -> str:
        """Apply a record of the log; return the reason if that is impossible."""
        kind, why = record["what"], ""
        if kind == "grades":
            query = record["query_id"]
            self.queries[query] = Query(query, record["grades"], self.settings)
        elif kind == "answer":
            why = self.count(record)
            if why and self._gaps:
                reason = f"{why}: a line of the log is lost"
                self._waiting.append({**record, "why": reason})
        elif kind == "aside":
            self.keep_aside(record)
        elif kind == "pairs":
            pairs = [pair_of(*pair) for pair in record["pairs"]]
            query = self.queries.get(record["query_id"])
            why = query.take_pairs(pairs) if query else "its query has no grades"
        elif kind == "calls":
            self.take_call(record)
        elif kind == "lost":
            self._gaps = True
        return "" if self._gaps else why

    def count(self, record: Record) -> str:
        """Count the answer of a record, or return why it does not count."""
        if why := self._apply(record):
            return why
        self._keep(record)
        again = bool(self._waiting)
        while again:  # the content of a lost line may have been added
            again, waiting, self._waiting = False, self._waiting, []
            for late in waiting:
                if self.has(late):  # its file was added again
                    again = True
                elif self._apply(late):
                    self._waiting.append(late)
                else:
                    self._keep({k: v for k, v in late.items() if k != "why"})
                    again = True
        return ""

    def _apply(self, record: Record) -> str:
        query = self.queries.get(record["query_id"])
        if query is None:
            return f"query {record['query_id']!r} has no grades"
        doc, other = record["doc_id"], record.get("other_doc_id")
        for document in (doc, other):
            if document is not None and document not in query.grades:
                return f"document {document!r} has no grade"
        sign = (record["preference"] > 0) - (record["preference"] < 0)
        shown = record.get("first"), record.get("judge")
        return query.apply(Answer(query.query, doc, other, sign, *shown))

    def _keep(self, record: Record) -> None:
        self.answers.append(record)
        self.cost += record.get("cost", 0.0)
        self._ids["answer"].add(record.get("id", ""))
        if self.program and record.get("from") != self.program["command"]:
            self.program = None

    def keep_aside(self, record: Record) -> None:
        """Store the record of an answer that does not count."""
        self._aside.append(record)
        self.cost += record.get("cost", 0.0)
        self._ids["aside"].add(record.get("id", ""))

    def take_call(self, record: Record) -> None:
        """Store the record of a call of a program."""
        self.calls += record["sent"]
        self.program = None if record.get("failed") else record

    @property
    def asides(self) -> list[Record]:
        """List records of answers that do not count, each with `why`."""
        return [r for r in [*self._aside, *self._waiting] if not self.has(r)]

    def has(self, record: Record, kind: str = "answer") -> bool:
        """Return whether the line of a file counts already, or is set `aside`."""
        return bool(record.get("id")) and record["id"] in self._ids[kind]

    def round_of(self, query: str) -> int | None:
        """Return the number of the open round of a query."""
        played = self.queries[query].round if query in self.queries else None
        return played.number if played else None

    def requests(
        self, at_once: int | None = None, judge: str | None = None
    ) -> list[Request]:
        """List the open requests, of at most `at_once` pairs of each query."""
        return [
            request
            for query in self.queries.values()
            for request in query.requests(at_once, judge)
        ]

    def saved(self) -> Counter[Any]:
        """Count the answers that inference saved, by rule."""
        return sum((query.saved_now() for query in self.queries.values()), Counter())

    def contradictions(self) -> list[tuple[str, str, str, str]]:
        """List answers that others contradict: query, judge, better, worse."""
        return [
            (name, *contradiction)
            for name, query in self.queries.items()
            for contradiction in query.contradictions()
        ]


def _settings(about: Record, where: str) -> TournamentSettings:
    """Read the first record of a log."""
    if about.get("what") != "start" or about.get("procedure") != PROCEDURE:
        raise DataError(
            "belongs to a tournament that this version of pgcjax cannot continue",
            where=where,
            mend=f"Its first line names a version that can: {about.get('pgcjax')}.",
        )
    try:
        rules = Rules(*(about[name] for name in _RULES))
        return TournamentSettings(rules, *(about[name] for name in _REST))
    except (KeyError, TypeError, PgcjaxError) as error:
        raise DataError(
            f"its settings lack or have a wrong {error}",
            where=f"{where}:1",
            mend="Restore the log from a copy.",
        ) from None


def status_lines(state: State, folder: str) -> list[str]:
    """Return the progress of a tournament, and the next step, as lines for people."""
    queries = state.queries.values()
    rounds = Counter(query.round.number for query in queries if query.round)
    missing = len(state.requests())
    lines = [
        f"{counted(len(queries), 'query')}: {len(queries) - rounds.total()} decided"
        + "".join(f", {n} in round {r}" for r, n in sorted(rounds.items())),
        f"{counted(len(state.answers), 'answer')} counted, {len(state.asides)} set "
        f"aside, {missing} missing in the open rounds",
    ]
    if not any(query.played or query.round for query in queries):
        lines.append("no query has two documents to compare")
    if saved := state.saved():
        rules = [rule for rule in get_args(Rule) if saved[rule]]
        lines.append(
            f"{counted(saved.total(), 'answer')} not needed: "
            + ", ".join(f"{saved[rule]} as {_BECAUSE[rule]}" for rule in rules)
        )
    if against := state.contradictions():
        lines.append(
            f"{counted(len(against), 'answer')} contradicted by others: "
            f"pgcjax ask status {quote(folder)} --show contradictions"
        )
    if state.calls:
        lines.append(
            f"{counted(state.calls, 'request')} sent to programs, cost {state.cost:g}"
        )
    return [*lines, f"next: {next_command(state, folder)}"]


def next_command(state: State, folder: str) -> str:
    """Return the next command; if a program judges, the command that runs it."""
    folder = quote(folder)
    if not state.requests():
        return f"pgcjax ask finish {folder} -o top.qrels.txt"
    if program := state.program:
        judge = f" --judge {quote(program['judge'])}" if program.get("judge") else ""
        command = quote(program["command"])
        named = [(n, path) for n in ("topics", "texts") for path in program.get(n, ())]
        texts = "".join(f" --{name} {quote(path)}" for name, path in named)
        return f"pgcjax ask judge {folder} {command}{judge}{texts}"
    return (
        f"pgcjax ask requests {folder} -o requests.txt, have them answered, and "
        f"pgcjax ask add {folder} answers.txt"
    )
