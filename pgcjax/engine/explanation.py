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
        measure: of the scores.
        run_id: the run.
        query_id: the query; "" of all.
        judgments: those that would change most if they were the other way: query_id,
            doc_id (which is preferred), other_doc_id, votes, votes_against, judges,
            change (by one of these votes).
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
        table: of a query, a row for each document that the run retrieved or the ideal
            ranking has, by rank: doc_id; rank and ideal_rank, from 1, empty where it
            has none; rule (of the peel's step that placed it; "" without one); adds (to
            the score: these sum to it); ideal_adds (to the score of the ideal ranking);
            moved (how the score would change if the run ranked the document where the
            ideal ranking does). Of all queries: query_id, score, ideal_score, loss, the
            largest loss first.
        score: of the run.
        ideal: the ideal ranking nearest to the run, best first; of graded measures
            the documents above grade 0 by grade, ties as the run has them.
        steps: of the peel: step; doc_id; ideal_rank; rule; decided_by (`alone` where no
            other document fitted the rule; else `run`, or `doc id` of documents that
            the run lacks); candidates (all that fitted).
        votes: who prefers which document: doc_id, other_doc_id, votes (for doc_id),
            votes_against, judges (how often each, if not once), conflicts (those of
            them that also voted the other way, and when this way last), first_time and
            last_time (of all, in UTC, if votes have times), kept (whether the ideal
            ranking has doc_id above).
        depths: what each depth adds: depth, overlap (of measures of overlap), adds.
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
        table: largest differences first. Of a query, a row for each document: doc_id,
            rank, other_rank, ideal_rank, other_ideal_rank, adds, other_adds,
            difference (these sum to that of the scores). Of all queries, a row for
            each: query_id, score, other_score, difference.
        other: the run that `run_id` is compared with.
        difference: of the scores, or of their means over queries.
        decisive: the fewest queries without which the order of the two runs would be
            the other one, the largest differences first; empty if there are none.
    """

    other: str
    difference: float
    decisive: list[str]
