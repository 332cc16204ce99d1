"""Explanations of scores: what each document adds, by which rule and judgments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pgcjax.io.result import Result, computed
from pgcjax.later import pd

RULES = "", "beats nobody", "nobody beats it", "most wins over losses"
"""Rules of `kernels.peel`, by their numbers there; "" where no step placed a document.
"""


@dataclass(frozen=True, kw_only=True)
class Explained(Result):
    """Findings about scores that other judgments would change.

    Attributes:
        measure: Measure of the scores.
        run_id: Run that is explained.
        query_id: Query that is explained; "" for all queries.
        judgments: Judgments whose reversal would change most: query_id, doc_id
            (preferred), other_doc_id, votes, votes_against, judges, change (by the
            reversal of one of these votes).
    """

    measure: str
    run_id: str
    query_id: str
    turn: Callable[[], pd.DataFrame] = field(repr=False, compare=False)
    judgments: pd.DataFrame = computed(lambda self: self.turn())


@dataclass(frozen=True, kw_only=True)
class Explanation(Explained):
    """The score of a run for a query, taken apart; or its mean, by queries.

    Attributes:
        table: For a query, a row for each document of the run or the ideal ranking, by
            rank: doc_id; rank and ideal_rank, from 1, else empty; rule (of the peel's
            step that placed it, else ""); adds (to the score, which is their sum);
            ideal_adds (to the score of the ideal ranking); moved (change of the score
            if the run ranked the document as the ideal ranking does). For all queries:
            query_id, score, ideal_score, loss, the largest loss first.
        score: Score of the run.
        ideal: Ideal ranking nearest to the run, best first; for graded measures, the
            documents above grade 0 by grade, ties in the order of the run.
        steps: Steps of the peel: step; doc_id; ideal_rank; rule; decided_by (`alone` if
            no other document fitted the rule; else `run`, or `doc id` for documents
            that the run lacks); candidates (all documents that fitted).
        votes: Votes on pairs: doc_id, other_doc_id, votes (for doc_id), votes_against,
            judges (with their number of votes, unless 1), conflicts (judges who also
            voted the other way, with the time of their last vote this way), first_time
            and last_time (of all votes, in UTC, if votes have times), kept (whether the
            ideal ranking has doc_id above).
        depths: Contribution of each depth: depth, overlap (for measures of overlap),
            adds.
    """

    score: float
    ideal: list[str]
    steps: pd.DataFrame
    depths: pd.DataFrame
    count: Callable[[], pd.DataFrame] = field(repr=False, compare=False)
    votes: pd.DataFrame = computed(lambda self: self.count())


@dataclass(frozen=True, kw_only=True)
class Difference(Explained):
    """Sources of the difference of two runs: documents, or queries.

    Attributes:
        table: Rows, the largest differences first. For a query, a row for each
            document: doc_id, rank, other_rank, ideal_rank, other_ideal_rank, adds,
            other_adds, difference (these sum to the difference of the scores). For all
            queries, a row for each: query_id, score, other_score, difference.
        other: Run that `run_id` is compared with.
        difference: Difference of the scores, or of their means over queries.
        decisive: Fewest queries without which the order of the two runs would reverse,
            the largest differences first; empty if there are none.
    """

    other: str
    difference: float
    decisive: list[str]
