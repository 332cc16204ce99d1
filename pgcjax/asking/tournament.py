"""A tournament in a folder: start it, list its requests, add answers, finish it."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from pgcjax._version import __version__
from pgcjax.asking import log
from pgcjax.asking.choices import LEVELS
from pgcjax.asking.log import Record
from pgcjax.asking.query import Answer, TournamentSettings
from pgcjax.asking.rounds import Pair, Rules, new_grades, pair_of
from pgcjax.asking.state import State, answer_record, aside, first_record
from pgcjax.errors import (
    DataError,
    Progress,
    UsageError,
    check_choice,
    counted,
    listed,
    printable,
)
from pgcjax.io.files import Source
from pgcjax.io.graded import read_qrels
from pgcjax.io.in_memory import in_hand
from pgcjax.io.reading import chosen
from pgcjax.io.remote import local_folder
from pgcjax.io.result import Result, computed
from pgcjax.io.texts import texts_by_id
from pgcjax.io.votes.read import read_placed
from pgcjax.io.weights import whole_weights

if TYPE_CHECKING:
    from pgcjax.asking.program import Judged

_REQUEST = ["query_id", "doc_id", "other_doc_id", "first", "round", "number", "judge"]
_VOTE = ["query_id", "doc_id", "other_doc_id", "preference", "judge", "first", "round"]
_MORE = ["probability", "seconds", "time", "cost"]


@dataclass(frozen=True, kw_only=True)
class Finished(Result):
    """The result of a tournament.

    Attributes:
        qrels: New grades: query_id, doc_id, relevance.
        votes: One row for each answer that counts: query_id, doc_id, other_doc_id,
            preference (1, -1 or 0), judge, first and round; and, where they are known,
            probability, seconds, time and cost.
        top: Best documents of each query: query_id, doc_id, wins.
        undecided: Queries that lack answers.
        table: Same as `qrels`.
    """

    qrels: pd.DataFrame
    votes: pd.DataFrame
    top: pd.DataFrame
    undecided: tuple[str, ...]
    table: pd.DataFrame = computed(lambda self: self.qrels)


@dataclass(frozen=True)
class Added:
    """Outcome of adding answers.

    Attributes:
        counted: Number of answers that count.
        before: Number of lines of the same files that were added before.
        silent: Number of rows that report no answer from a judge.
        aside: Answers set aside: where, query_id, doc_id, other_doc_id, why.
    """

    counted: int
    before: int
    silent: int
    aside: pd.DataFrame


class Tournament:
    """A tournament for the best documents of each query, kept in a folder.

    Its state is derived from its append-only log, `log.jsonl`, so a call that is killed
    loses no answer. `start` makes a new tournament.

    Attributes:
        folder: Folder of the tournament.

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
            folder: Folder to be made.
            qrels: Grades, in any form that `read_qrels` takes; they choose the
                documents that take part.
            k: Number of documents to find.
            pairings: Comparisons of a document in an elimination round; by default 7,
                or the first odd number above k.
            final: Most documents of the round of all pairs; by default pairings + 2.
            judges: Number of judges of each pair; their majority counts.
            sides: Pairs are shown in one `random` order, or in `both`.
            infer: Source of inferred answers, which are not asked for: `none`, the
                `majority`, or each `judge`.
            bad: Whether a document that is called bad loses to all others.
            seed: Seed of all random draws.

        Raises:
            UsageError: an argument is wrong, or the folder holds a tournament.
            DataError: qrels are malformed, or the folder cannot be written.
        """
        rules = Rules.of(k, pairings, final)
        settings = TournamentSettings(rules, judges, sides, infer, bad, seed)
        records = [first_record(settings, __version__)]
        for query, rows in read_qrels(qrels).groupby("query_id", sort=True):
            grades = dict(zip(rows["doc_id"], rows["relevance"].tolist(), strict=True))
            records.append({"what": "grades", "query_id": query, "grades": grades})
        log.create(folder, records)
        return cls(folder)

    @property
    def settings(self) -> TournamentSettings:
        """Return the settings with which the tournament was started."""
        return self.state.settings

    def requests(
        self,
        at_once: int | None = None,
        judge: str | None = None,
        *,
        topics: Any = None,
        texts: Any = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """List the pairs that are to be judged now.

        Args:
            at_once: Most pairs of each query; with inference, fewer pairs at once save
                more answers.
            judge: Name of a judge, whose requests alone are listed.
            topics: Texts of queries, in any form that `read_topics` takes.
            texts: Texts of documents, in any form that `read_texts` takes.
            progress: Called while texts are read.

        Returns:
            One row per request: query_id, doc_id, other_doc_id, first (equal to doc_id,
            which is to be shown first), round, number (1, 2, …: different numbers of a
            pair are for different judges) and judge (who has answered the other order;
            or ""); with topics query_text, with texts doc_text and other_doc_text, in
            which control characters are printable.
        """
        if at_once is not None and at_once < 1:
            raise UsageError(f"at_once: expected 1 or more, found {at_once}")
        rows = [
            (r.query, r.first, r.second, r.first, r.round, r.number, r.judge)
            for r in self.state.requests(at_once, judge)
        ]
        table = pd.DataFrame(rows, columns=_REQUEST)
        for name, saying in self.texts_by_id(topics, texts, progress).items():
            column = [
                printable(saying[each], "\t\n\r") if each in saying else None
                for each in table[name]
            ]
            text = pd.Series(column, table.index, dtype=object)
            table[name.replace("_id", "_text")] = text
        return table

    def texts_by_id(
        self, topics: Any, texts: Any, progress: Progress | None = None
    ) -> dict[str, dict[str, str]]:
        """Read the texts of open rounds, as `io.texts.texts_by_id` returns them."""
        queries = self.state.queries.items()
        docs = {name: q.round.documents for name, q in queries if q.round is not None}
        every = chain.from_iterable(docs.values())
        return texts_by_id(topics, texts, docs, every, progress)

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
            answers: Files or a table, as in `read_preferences`.
            format: Format of the files, as in `read_preferences`.
            judge: Judge of rows that name none.
            rounds: Whether the answered pairs replace those of the open rounds, because
                another program drew the rounds.

        Returns:
            The number of answers that count, and the others with the reasons; these
            are stored, too.

        Raises:
            DataError: a row is malformed, or the pairs make no round.
            UsageError: another process adds answers.
        """
        given, silent = _read_answers(answers, format, judge)
        with self.adding() as appender:
            records = self._take_rounds(given) if rounds else []
            fresh = [record for record in given if not self.state.has(record)]
            counting, others = self._count(fresh)
            records += counting
            for record in others:
                if not self.state.has(record, "aside"):
                    self.state.keep_aside(record)
                    records.append(record)
            appender.append(records)
        rows = pd.DataFrame(
            [
                [record.get(name) for name in ("from", *_VOTE[:3], "why")]
                for record in others
            ],
            columns=["where", *_VOTE[:3], "why"],
        )
        return Added(len(counting), len(given) - len(fresh), silent, rows)

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
        topics: Any = None,
        texts: Any = None,
        progress: Progress | None = None,
    ) -> "Judged":
        """Run a program as judge of the open pairs, until all is decided.

        Each answer is on disk before the next is read; after an interruption, the same
        call continues. The answer to an equal request is reused. docs/asking.md
        describes the requests that the program reads, and the answers that it writes.

        Args:
            command: The program and its arguments.
            name: Name of the judge, where an answer has none.
            seconds: Time without an answer after which the program is restarted.
            retries: Times that an unanswered request is repeated, and that a program
                without answers is restarted.
            window: Most requests that wait for an answer at a time.
            most: Most requests in all.
            most_cost: Cost of answers after which no more are requested.
            topics: Texts of queries for the requests, as in `read_topics`.
            texts: Texts of documents for the requests, as in `read_texts`.
            progress: Called with `(stage, done, total)`.

        Raises:
            UsageError: a limit is out of range, or another process adds answers.
            DataError: the program cannot be started, or gives no answers, or an
                unreadable one.
        """
        from pgcjax.asking.program import Judging

        limits = seconds, retries, window, most, most_cost
        given = {"topics": topics, "texts": texts}
        return Judging(self, command, name, *limits, progress, given).run()

    def finish(self, *, grades: str = "top", partial: bool = False) -> Finished:
        """Return the new grades, and the votes behind them.

        Args:
            grades: With `top`, the top documents get their wins in the last round + the
                highest grade of the query + 100, and all others keep their grades. With
                `wins`, each document with a win gets its wins in all rounds.
            partial: Whether queries may be undecided; with `top` their documents keep
                their grades.

        Raises:
            UsageError: judgments are missing, or `grades` is neither of these.
        """
        missing = len(self.state.requests())
        if missing and not partial:
            raise UsageError(
                f"{self.folder}: at least {counted(missing, 'answer')} missing. Ask "
                f"for them, pgcjax ask requests {self.folder}; or finish the decided "
                "queries, --partial (partial=True in Python)"
            )
        check_choice("grades", grades, LEVELS)
        qrels, best = [], []
        for name, query in self.state.queries.items():
            top = query.top or {}
            best += [(name, d, top[d]) for d in sorted(top, key=lambda d: (-top[d], d))]
            raised = new_grades(query.grades, top)
            if grades == "wins":
                wins = query.wins()
                raised = {d: wins[d] for d in sorted(wins, key=lambda d: (-wins[d], d))}
            qrels += [(name, document, grade) for document, grade in raised.items()]
        votes = pd.DataFrame(self.state.answers, columns=[*_VOTE, *_MORE])
        empty = [n for n in ("judge", "first", *_MORE) if votes[n].isna().all()]
        votes["preference"] = votes["preference"].astype(float)
        queries = self.state.queries.items()
        return Finished(
            {"grades": grades},
            qrels=pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
            votes=votes.drop(columns=empty),
            top=pd.DataFrame(best, columns=["query_id", "doc_id", "wins"]),
            undecided=tuple(name for name, query in queries if query.top is None),
        )

    @contextmanager
    def adding(self) -> Iterator[log.Appender]:
        """Lock the log, and read records that other processes have added."""
        appender = log.Appender(self.folder)
        try:
            appender.mend(self._load())
            yield appender
        except BaseException:
            self._load()  # drops answers that were counted, but not written
            raise
        finally:
            appender.close()

    def _load(self) -> log.Contents:
        """Read the log, and warn of an incomplete last line."""
        contents = log.read(self.folder)
        if contents.rest:
            log.warn_of_rest(self.folder)
        self.state = State(contents.records, str(self.folder))
        return contents

    def _count(self, given: list[Record]) -> tuple[list[Record], list[Record]]:
        """Count answers; return the records that count, and those that do not.

        An answer without a request is tried again once others have opened a round.
        """
        counting: list[Record] = []
        others: dict[int, Record] = {}
        left = [*enumerate(given)]
        while True:
            waiting = []
            for i, record in left:
                record["round"] = self.state.round_of(record["query_id"])
                if why := self.state.count(record):
                    waiting.append((i, record))
                    # The first reason is the most informative one.
                    others.setdefault(i, aside(record, why))
                else:
                    others.pop(i, None)
                    counting.append(record)
            if len(waiting) in (0, len(left)):
                return counting, [others[i] for i, _ in waiting]
            left = waiting

    def _take_rounds(self, given: list[Record]) -> list[Record]:
        """Use the pairs of answers as those of the open rounds."""
        pairs: dict[str, dict[Pair, str]] = {}
        for record in given:
            if "other_doc_id" in record and not self.state.has(record):
                of_query = pairs.setdefault(record["query_id"], {})
                pair = pair_of(record["doc_id"], record["other_doc_id"])
                of_query.setdefault(pair, record["from"])
        records = []
        for name, places in pairs.items():
            query, number = self.state.queries.get(name), self.state.round_of(name)
            why = query.take_pairs(places) if query else f"query {name!r} has no grades"
            if why:
                raise DataError(
                    f"the answers of query {name!r} do not make up a round: {why}",
                    where=next(iter(places.values())),
                    mend=(
                        "Add the answers of whole rounds, one round after the other; "
                        "add the rest of a round without --rounds (rounds=True in "
                        "Python)."
                    ),
                )
            listed_pairs = [[*pair] for pair in places]
            about = {"what": "pairs", "query_id": name, "round": number}
            records.append({**about, "pairs": listed_pairs})
        return records


def _read_answers(
    source: Source | Iterable[Source] | Any, format: str, judge: str | None
) -> tuple[list[Record], int]:
    """Read records of answers in any layout that `read_preferences` knows.

    Each record has its origin in `from`. Records of files have an `id`, made of the
    line and all lines above it, so that a file that was added in part, or has grown,
    can be added again.

    Args:
        source: Files or a table.
        format: Format of the files, as in `read_preferences`.
        judge: Judge of rows that name none.

    Returns:
        The answers, and the number of rows that report no answer from a judge.

    Raises:
        UsageError: rows have several aspects, or `flips` was chosen.
        DataError: a row is malformed.
    """
    if chosen().flips != "keep":
        raise UsageError(
            "flips works only without a tournament: one that shows both orders "
            "counts answers that disagree as a tie"
        )
    source = in_hand(source, "preferences")
    in_memory = isinstance(source, pd.DataFrame)
    table, places = read_placed(source, format=format)
    weights = whole_weights(table, "a tournament")
    names = [*_VOTE[:6], "aspect", *_MORE[:3]]
    rows = table.reindex(columns=names).astype(object)
    so_far, answers = blake2b(digest_size=8), []
    cells = [*rows.itertuples(index=False, name=None)]
    for i in _rows_of_aspect([row[6] for row in cells]):
        query, doc, other, value, name, first, _, *numbers = map(_known, cells[i])
        sign = (value > 0) - (value < 0)
        answer = Answer(query, doc, other, sign, first, name or judge)
        where = places.at(i)
        for number in range(1 if answer.judge else int(weights[i])):
            so_far.update(repr((where, answer, number)).encode())
            more = {"round": 0, "from": where}
            more |= {} if in_memory else {"id": so_far.hexdigest()}
            more |= dict(zip(_MORE, numbers, strict=False))
            answers.append(answer_record(answer, **more))
    return answers, sum(table.attrs.get("refused", {}).values())


def _rows_of_aspect(cells: list[Any]) -> list[int]:
    """Choose the rows of the named aspects; all of them must have the same one."""
    aspects, wanted = [*map(_known, cells)], chosen().aspects
    rows = [i for i, aspect in enumerate(aspects) if not wanted or aspect in wanted]
    if len(several := {aspects[i] for i in rows}) == 1:
        return rows
    if not several:
        raise UsageError(f"no answer has aspect {listed(wanted)}")
    raise UsageError(
        f"expected answers of one aspect, found {listed(sorted(map(str, several)))}"
        ": name one, --aspect NAME (aspects= of pgcjax.files.reading in Python)"
    )


def _known(cell: Any) -> Any:
    """Return a cell; None if it is missing."""
    nothing = cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))
    return None if nothing else cell
