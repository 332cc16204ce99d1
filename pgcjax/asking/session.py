"""A tournament that is kept in a folder: started, asked for requests, given answers."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pgcjax._version import __version__
from pgcjax.asking import log
from pgcjax.asking.answers import Given, read_answers
from pgcjax.asking.asked import Answer, TournamentSettings
from pgcjax.asking.result import Finished, finished
from pgcjax.asking.rounds import Rules, pair_of
from pgcjax.asking.state import State, first_record, record_of
from pgcjax.errors import DataError, Progress, UsageError, counted
from pgcjax.io.files import Source
from pgcjax.io.qrels import read_qrels
from pgcjax.io.remote import local_folder

if TYPE_CHECKING:
    from pgcjax.asking.program import Judged

_REQUESTS = (
    "query_id",
    "doc_id",
    "other_doc_id",
    "first",
    "round",
    "number",
    "judge",
)


@dataclass(frozen=True)
class Added:
    """What became of answers that were added.

    Attributes:
        counted: how many count.
        before: how many lines of the same files count already.
        silent: how many say that a judge gave no answer.
        aside: those that were kept aside: where, query_id, doc_id, other_doc_id, why.
    """

    counted: int
    before: int
    silent: int
    aside: pd.DataFrame


class Tournament:
    """A tournament for the best documents of each query, kept in a folder.

    Its log, `log.jsonl`, is only ever added to, and all else follows from it: a call
    that is killed loses no answer. `start` makes a new one.

    Attributes:
        folder: where it is kept.

    Raises:
        DataError: the folder holds no tournament, or its log was changed.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = local_folder(folder)
        self._load()

    @classmethod
    def start(
        cls,
        folder: str | os.PathLike,
        qrels: Source | Any,
        *,
        k: int = 5,
        pairings: int | None = None,
        final: int | None = None,
        judges: int = 1,
        sides: str = "random",
        infer: str = "none",
        bad: bool = False,
        seed: int = 0,
    ) -> "Tournament":
        """Start a tournament, and keep it in a new folder.

        Args:
            folder: to be made.
            qrels: grades, as of `read_qrels`: they say who takes part.
            k: how many documents are to be found.
            pairings: comparisons of a document in a round that eliminates; by default
                7, or the first odd number above k.
            final: most documents of the round of all pairs; by default pairings + 2.
            judges: how many are asked about a pair; what most of them say counts.
            sides: a pair is shown in one order, drawn (`random`), or in `both`.
            infer: what is not asked: nothing (`none`), or what follows from answers of
                the `majority`, or of each `judge`.
            bad: whether all documents beat one that is called bad.
            seed: of what is drawn.

        Raises:
            UsageError: an argument is wrong, or the folder holds a tournament.
            DataError: qrels are malformed, or the folder cannot be written.
        """
        rules = Rules.of(k, pairings, final)
        settings = TournamentSettings(rules, judges, sides, infer, bad, seed)
        grades = (
            {
                "what": "grades",
                "query_id": query,
                "grades": dict(
                    zip(of["doc_id"], of["relevance"].tolist(), strict=True)
                ),
            }
            for query, of in read_qrels(qrels).groupby("query_id", sort=True)
        )
        log.create(folder, [first_record(settings, __version__), *grades])
        return cls(folder)

    @property
    def settings(self) -> TournamentSettings:
        """Return what the tournament was started with."""
        return self.state.settings

    def requests(
        self, at_once: int | None = None, judge: str | None = None
    ) -> pd.DataFrame:
        """List the pairs that are to be judged now.

        Args:
            at_once: of at most so many pairs of each query: with inference, fewer at
                once make fewer in all.
            judge: only those that this judge has not answered.

        Returns:
            A row for each: query_id, doc_id, other_doc_id, first (doc_id again: it is
            to be shown first), round, number (1, 2, …: requests of a pair with
            different ones are for different judges) and judge (who has answered the
            other order; or "").
        """
        if at_once is not None and at_once < 1:
            raise UsageError(f"at_once: expected 1 or more, found {at_once}")
        rows = [
            (r.query, r.first, r.second, r.first, r.round, r.number, r.judge)
            for r in self.state.requests(at_once, judge)
        ]
        return pd.DataFrame(rows, columns=list(_REQUESTS))

    def add(
        self,
        answers: Source | Iterable[Source] | Any,
        *,
        format: str = "auto",
        judge: str | None = None,
        rounds: bool = False,
    ) -> Added:
        """Add answers, all or none of a call; they are on disk when it returns.

        Args:
            answers: files or a table, as of `read_preferences`.
            format: as there.
            judge: whose answers they are where a row names no judge.
            rounds: whether the pairs that are answered are those of the open rounds, as
                somebody else drew them, and not those that were drawn here.

        Returns:
            How many count, and which ones do not, and why: those are kept, too.

        Raises:
            DataError: a row is malformed, or pairs are none of a round.
            UsageError: another process adds answers.
        """
        given, silent = read_answers(answers, format, judge)
        with self.adding() as appender:
            records = self._take_rounds(given) if rounds else []
            fresh = [one for one in given if not self.state.has(one.id)]
            aside = self._count(fresh, records)
            for one, record in aside:
                if not self.state.has(one.id, aside=True):
                    self.state.keep(record)
                    records.append(record)
            appender.append(records)
        columns = ["where", "query_id", "doc_id", "other_doc_id", "why"]
        rows = [(one.where, *one.answer[:3], record["why"]) for one, record in aside]
        counts = len(fresh) - len(aside), len(given) - len(fresh), silent
        return Added(*counts, pd.DataFrame(rows, columns=columns))

    def judge(
        self,
        command: str,
        *,
        name: str | None = None,
        seconds: float = 60.0,
        retries: int = 2,
        window: int = 16,
        most: int | None = None,
        most_cost: float | None = None,
        progress: Progress | None = None,
    ) -> "Judged":
        """Let a program judge what is open, until all is decided.

        Each answer is on disk before the next is read; the same call goes on where
        one was stopped. docs/asking.md says what the program reads and writes.

        Args:
            command: the program and its arguments.
            name: of the judge, where an answer names none.
            seconds: without an answer, after which it is started again.
            retries: how often a request is sent again, and a program started again
                that gives no answer.
            window: requests that wait for an answer at a time.
            most: requests in all.
            most_cost: no more is asked when the answers have cost so much.
            progress: is told how far it is.

        Raises:
            UsageError: a limit is none, or another process adds answers.
            DataError: the program cannot be started, or gives no answers.
        """
        from pgcjax.asking.program import ProgramLimits, judge

        limits = ProgramLimits(seconds, retries, window, most, most_cost)
        return judge(self, command, name, limits, progress)

    def finish(self, *, grades: str = "top", partial: bool = False) -> Finished:
        """Return the new grades, and the votes that they rest on.

        Args:
            grades: `top`: of the top its wins in the last round + the highest grade of
                the query + 100, and of all others the old grade; or `wins`: the wins of
                a document in all rounds, of those that won.
            partial: whether queries may be left that are not decided: with `top` they
                keep their grades.

        Raises:
            UsageError: judgments are missing, or `grades` is none of these.
        """
        missing = len(self.state.requests())
        if missing and not partial:
            raise UsageError(
                f"{self.folder}: {counted(missing, 'answer')} at least are missing. "
                f"Ask for them, pgcjax ask requests {self.folder}; or finish what can "
                "be, --partial (partial=True in Python)"
            )
        return finished(self.state, grades)

    @contextmanager
    def adding(self) -> Iterator[log.Appender]:
        """Keep all others from adding, and read what they have added before."""
        appender = log.Appender(self.folder)
        try:
            appender.mend(self._load())
            yield appender
        except BaseException:
            self._load()  # what was taken, but not written, is forgotten
            raise
        finally:
            appender.close()

    def _load(self) -> log.Contents:
        """Read the log, and warn of a last line that was cut short."""
        contents = log.read(self.folder)
        if contents.rest:
            log.warn_of_rest(self.folder)
        self.state = State(contents.records, str(self.folder))
        return contents

    def _count(
        self, given: list[Given], records: list[log.Record]
    ) -> list[tuple[Given, log.Record]]:
        """Count answers, and return those that do not, each with its record.

        One that nobody asked for yet is tried again once others have opened a round.
        """
        aside: dict[int, log.Record] = {}
        left = [*range(len(given))]
        while True:
            waiting = []
            for i in left:
                one = given[i]
                number = self._round_of(one.answer)
                why = self.state.give(one.answer)
                more = {"round": number, "from": one.where, "id": one.id or None}
                record = record_of(one.answer, why, **more, **one.more)
                if why:
                    aside.setdefault(i, record)  # the first reason is the telling one
                    waiting.append(i)
                else:
                    aside.pop(i, None)
                    self.state.keep(record)
                    records.append(record)
            if len(waiting) in (0, len(left)):
                return [(given[i], record) for i, record in sorted(aside.items())]
            left = waiting

    def _round_of(self, answer: Answer) -> int | None:
        query = self.state.queries.get(answer.query)
        return query.round.number if query and query.round else None

    def _take_rounds(self, given: list[Given]) -> list[log.Record]:
        """Take the pairs of answers for those of the open rounds."""
        pairs: dict[str, dict[tuple[str, str], str]] = {}
        for one in given:
            query, doc, other = one.answer[:3]
            if other is not None and not self.state.has(one.id):
                pairs.setdefault(query, {}).setdefault(pair_of(doc, other), one.where)
        records = []
        for name, places in pairs.items():
            query = self.state.queries.get(name)
            number = query.round.number if query and query.round else None
            why = query.take_pairs(places) if query else f"query {name!r} has no grades"
            if why:
                raise DataError(
                    f"the answers of query {name!r} are not those of a round: {why}",
                    where=next(iter(places.values())),
                    mend="Add the answers of one whole round after the other; the "
                    "rest of a round, without --rounds (rounds=True in Python).",
                )
            listed = [list(pair) for pair in places]
            records.append(
                {"what": "pairs", "query_id": name, "round": number, "pairs": listed}
            )
        return records
