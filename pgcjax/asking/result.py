"""What a tournament ends with: new grades, and the votes they rest on."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from pgcjax.asking.choices import LEVELS
from pgcjax.asking.log import Record
from pgcjax.asking.query import Query
from pgcjax.asking.rounds import count_wins, new_grades
from pgcjax.asking.state import State
from pgcjax.errors import check_choice
from pgcjax.io.result import Result, computed

_VOTES = ("query_id", "doc_id", "other_doc_id", "preference", "judge", "first", "round")
_MORE = ("probability", "seconds", "time", "cost")


@dataclass(frozen=True, kw_only=True)
class Finished(Result):
    """The result of a tournament.

    Attributes:
        qrels: query_id, doc_id, relevance: the new grades.
        votes: a row for each answer that counts: query_id, doc_id, other_doc_id,
            preference (1, -1 or 0), judge, first and round; and, where they are known,
            probability, seconds, time and cost.
        top: query_id, doc_id, wins: the best documents of each query.
        undecided: queries that lack answers.
        table: `qrels`.
    """

    qrels: pd.DataFrame
    votes: pd.DataFrame
    top: pd.DataFrame
    undecided: tuple[str, ...]
    table: pd.DataFrame = computed(lambda self: self.qrels)


def finished(state: State, grades: str) -> Finished:
    """Return the result as it stands, with grades of one of `LEVELS`."""
    check_choice("grades", grades, LEVELS)
    qrels, best = [], []
    for name, query in state.queries.items():
        top = query.top or {}
        raised = new_grades(query.grades, top) if grades == "top" else _wins(query)
        order = (
            sorted(raised, key=lambda d: (-raised[d], d))
            if grades == "wins"
            else raised
        )
        qrels += [(name, document, raised[document]) for document in order]
        best += [(name, d, top[d]) for d in sorted(top, key=lambda d: (-top[d], d))]
    undecided = tuple(n for n, query in state.queries.items() if query.top is None)
    return Finished(
        {"grades": grades},
        qrels=pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
        votes=_votes(state.answers),
        top=pd.DataFrame(best, columns=["query_id", "doc_id", "wins"]),
        undecided=undecided,
    )


def _wins(query: Query) -> dict[str, float]:
    """Count what each document won in all rounds; who won nothing is left out."""
    wins: Counter[str] = Counter()
    for played, outcomes in query.rounds():
        signs = {pair: sign for pair, (sign, _) in outcomes.items()}
        wins.update(count_wins(played.documents, signs))
    return {document: won for document, won in wins.items() if won > 0}


def _votes(answers: list[Record]) -> pd.DataFrame:
    """Make a table of preferences, without columns of which nothing is known."""
    table = pd.DataFrame(answers, columns=[*_VOTES, *_MORE])
    more = [name for name in ("judge", "first", *_MORE) if table[name].isna().all()]
    table["preference"] = table["preference"].astype(float)
    return table.drop(columns=more)
