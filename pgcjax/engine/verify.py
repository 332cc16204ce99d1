"""Scores, and their means as printed, recomputed by the plain twins in `reference/`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any
from zlib import crc32

import numpy as np

from pgcjax.engine.batch import Batch
from pgcjax.engine.request import ScoringRequest
from pgcjax.errors import UsageError, VerificationError
from pgcjax.io.runs import PackedBlock, RunTable
from pgcjax.later import pd
from pgcjax.measures.measure import Case
from pgcjax.reference.order import ordered
from pgcjax.stats.scores import Scores

Rows = list[tuple[str, float, float]]  # doc_id, score, rank

TOLERANCE = 1e-12
"""Largest difference of a score from its twin, float64 sums of 1000 terms; and of a
mean, relative to one above 1."""

_ENDS_TOLERANCE = 1e-9  # for intervals: roots of spreads near 0 lose digits

_ByQuery = Mapping[tuple[str, str], Mapping[str, float]]  # of a run and measure


def check_share(share: float) -> float:
    """Return a share back.

    Raises:
        UsageError: it is no number in 0..1.
    """
    try:
        inside = 0 <= share <= 1
    except TypeError:
        inside = False
    if not inside:
        raise UsageError(f"verify={share!r}: expected a share from 0 to 1")
    return share


class Sample:
    """Rankings that are kept, as runs pass by, to be scored by the twins.

    A hash of names chooses a share of the pairs of run and judged query, so the choice
    does not depend on files or their order. If it chooses none, the pair of the least
    hash is kept, so at least one is recomputed.
    """

    def __init__(self, share: float):
        """Choose a share of rankings.

        Raises:
            UsageError: the share is no number in 0..1.
        """
        self._share = check_share(share)
        self._least = 2**32
        self._lock = Lock()
        self._rows: dict[tuple[str, str], Rows] = {}

    @property
    def chosen(self) -> set[tuple[str, str]]:
        """Run and query of the rankings that were kept."""
        return set(self._rows)

    def take(self, table: RunTable | PackedBlock, judged: Container[str]) -> None:
        """Look at whole runs, and keep the chosen rankings of judged queries.

        Threads may call it, in any order.
        """
        bound = self._share * 2**32
        for run, query, rows in each_ranking(table):
            hashed = crc32(f"{run}\t{query}".encode())
            with self._lock:
                if query not in judged or hashed >= max(bound, self._least):
                    continue
                if self._least >= bound:  # what was kept, if anything, was a makeshift
                    self._rows.clear()
                self._least = min(self._least, hashed)
                self._rows[run, query] = rows()

    def verify(
        self,
        scores: Scores,
        request: ScoringRequest,
        batches: Sequence[Batch],
    ) -> int:
        """Recompute the scores of the chosen rankings, and the means of their runs.

        Means are recomputed from the twins' scores, and from scores in the table for
        rankings that were not chosen.

        Args:
            scores: Scores that are printed and written.
            request: Measures and judgments.
            batches: Batches of the request.

        Returns:
            Number of scores that were recomputed.

        Raises:
            VerificationError: a score or a mean differs from its twin.
        """
        judged = records_of(request.tables)
        batch_of = {m.place: batch for batch in batches for m in batch.members}
        places = {str(m.measure): m.place for m in request.members}
        measures = request.measures
        answered: dict[str, set[str]] = {}
        for run_id, query_id in self._rows:
            answered.setdefault(run_id, set()).add(query_id)
        if not answered:
            return 0  # one of several processes may have no such run
        table = scores.source.frame(set(answered))
        columns = (
            table[c].tolist() for c in ("run_id", "query_id", "measure", "value")
        )
        by_query: dict[tuple[str, str], dict[str, float]] = {}
        count = 0
        for run_id, query_id, name, value in zip(*columns, strict=True):
            of_run = by_query.setdefault((run_id, name), {})
            of_run[query_id] = value
            if (run_id, query_id) not in self._rows:
                continue
            run = ordered(self._rows[run_id, query_id], request.order)
            place = places[name]
            parameters = measures[place].parameters
            judged_case = judged(query_id)
            case = Case(run_id, query_id, run, parameters, judged_case, request.tables)
            twin = batch_of[place].recompute(place, case)
            if not abs(twin - value) <= TOLERANCE:
                raise _defect(
                    f"run {run_id!r}, query {query_id!r}: {name} is {value!r}, its "
                    f"reference {twin!r}"
                )
            of_run[query_id] = twin
            count += 1
        _check_queries(request, by_query, answered, self._share == 1)
        _check_means(scores, table, by_query, request)
        return count


def _check_queries(
    request: ScoringRequest,
    by_query: _ByQuery,
    answered: Mapping[str, set[str]],
    whole: bool,
) -> None:
    """Compare the queries of each mean with those that were judged.

    Args:
        request: Measures and judgments.
        by_query: Scores of the table that is printed.
        answered: Judged queries that each run has; all of them if `whole`.
        whole: whether `answered` has all judged queries of each run.
    """
    from pgcjax.reference.means import judged_queries  # which imports scipy

    for measure in request.measures:
        judged = judged_queries(request.tables, measure.needs)
        for run, has in answered.items():
            there = set(by_query.get((run, str(measure)), ()))
            least = judged & has if request.missing == "skip" else judged
            most = least if whole else judged
            if odd := (least - there) | (there - most):
                raise _defect(
                    f"run {run!r}: {measure} has {len(there)} queries, its reference "
                    f"{len(least)}: they differ in {min(odd)!r}"
                )
            if whole and any(by_query[run, str(measure)][q] for q in there - has):
                raise _defect(f"run {run!r}: {measure} scores a query that it lacks")


def _check_means(
    scores: Scores, table: pd.DataFrame, by_query: _ByQuery, request: ScoringRequest
) -> None:
    """Recompute means and their intervals, as users see them.

    Args:
        scores: Scores that are printed and written.
        table: Rows of some runs of the scores.
        by_query: Scores of these runs: the twins' where these were computed.
        request: Measures and judgments.
    """
    from pgcjax.reference.means import interval, mean

    twins: dict[tuple[str, str, str], float] = {}
    kinds = {str(measure): measure.mean for measure in request.measures}
    for (run, measure), of_queries in by_query.items():
        values = [*of_queries.values()]
        twins[run, measure, "mean"] = mean(values, kinds[measure])
        ends = interval(values, kinds[measure])
        twins[run, measure, "low"], twins[run, measure, "high"] = ends
    for printed in _printed(scores, table):
        for (run, measure, noun), twin in twins.items():
            if noun == "mean" and (run, measure, noun) not in printed:
                raise _defect(f"run {run!r}: {measure} has no mean, its twin {twin!r}")
            limit = TOLERANCE if noun == "mean" else _ENDS_TOLERANCE
            value = printed.get((run, measure, noun), twin)
            if not abs(twin - value) <= limit * max(1.0, abs(twin)):
                raise _defect(
                    f"run {run!r}: the {noun} of {measure} is {value!r}, its reference "
                    f"{twin!r}"
                )


def _printed(
    scores: Scores, table: pd.DataFrame
) -> Iterator[dict[tuple[str, str, str], float]]:
    """Means and ends of intervals, by run, measure and noun, wherever they stand."""
    from pgcjax.stats.run_means import run_means

    text = {}  # as trec_eval has it
    _, *lines = scores.lines(digits=None)
    for line in lines:
        *run, measure, _, value = line.split("\t")
        run_id = "\t".join(run) if len(scores.runs) > 1 else scores.runs[0]
        text[run_id, measure, "mean"] = float(value)
    yield text
    means = scores.mean().to_dict("index").items()  # as other tools have them
    yield {(run, m, "mean"): x for run, row in means for m, x in row.items()}  # pyright: ignore
    board = run_means([table]).to_dict("index").items()  # as a leaderboard has them
    yield {(*key, noun): x for key, row in board for noun, x in row.items()}  # pyright: ignore


def _defect(text: str) -> VerificationError:
    return VerificationError(
        f"{text}. This is a defect of pgcjax: please report it with the data"
    )


def records_of(
    tables: Mapping[str, pd.DataFrame],
) -> Callable[[str], dict[str, Any]]:
    """Return what lists the judgments of a query as rows, by their kind."""
    tables = {n: t for n, t in tables.items() if "query_id" in t}
    rows_of = {n: t.groupby("query_id").indices for n, t in tables.items()}

    @cache
    def judged(query_id: str) -> dict[str, Any]:
        return {
            name: table.iloc[rows_of[name].get(query_id, [])].to_dict("records")
            for name, table in tables.items()
        }

    return judged


def each_ranking(
    table: RunTable | PackedBlock,
) -> Iterator[tuple[str, str, Callable[[], Rows]]]:
    """Return run, query and rows of each ranking."""
    if isinstance(table, RunTable):
        for (run, query), rows in table.frame.group_by(["run_id", "query_id"]):
            rows = rows.select("doc_id", "score", "rank")
            yield str(run), str(query), rows.rows
        return
    places, names = table.doc, table.doc_ids
    if table.judged is not None:
        places, names = table.judged, table.docs["doc_id"]
    assert places is not None and names is not None
    ends = np.cumsum(table.count).tolist()
    rankings = zip(
        *(table.run.tolist(), table.query.tolist(), table.length.tolist()),
        *([0, *ends], ends),
        strict=False,
    )
    for run, query, length, start, end in rankings:
        here = slice(start, end)
        rows = partial(_packed_rows, names, places[here], table.position[here], length)
        yield table.run_ids[run], table.query_ids[query], rows


def _packed_rows(
    names: Any, numbers: np.ndarray, position: np.ndarray, length: int
) -> Rows:
    """Lay a packed ranking out; what was not read is as a document nobody judged.

    Args:
        names: Names of documents.
        numbers: Numbers of the documents of this ranking.
        position: Position of each document.
        length: Length of the ranking.
    """
    docs = [f"\0{i}" for i in range(length)]
    for number, place in zip(numbers.tolist(), position.tolist(), strict=True):
        docs[place] = names[number]
    return [(doc, -float(i), float(i)) for i, doc in enumerate(docs)]
