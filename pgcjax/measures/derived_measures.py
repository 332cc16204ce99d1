"""Measures of several intents that are derived from graded ones, by a definition."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures import binary, graded
from pgcjax.measures.gains import Gains, highest_of, positive_gains
from pgcjax.measures.intents import (
    GAMMA,
    PROBABILITIES,
    Parameters,
    judged,
    notes_of,
    served,
    void,
)
from pgcjax.measures.spec import Case, Definition
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

# With gains of more than one height, so that they can be those for all intents.
GRADED = {
    "CG": graded.CG_GAINS,
    "DCG": graded.DCG_GAINS,
    "nDCG": graded.NDCG_GAINS,
    "MSnDCG": graded.MSNDCG_GAINS,
    "ERR": graded.ERR_GAINS,
    "nERR": graded.NERR_GAINS,
    "Q": graded.Q_GAINS,
    "P+": graded.P_PLUS_GAINS,
    "O": graded.O_GAINS,
    "RBP": binary.RBP_GAINS,
}
BINARY = {
    "AP": binary.AP_GAINS,
    "RR": binary.RR_GAINS,
    "P": binary.P_GAINS,
    "R": binary.R_GAINS,
}


def gains_of(
    measure: Gains, grades: np.ndarray, q: Parameters, collection: float
) -> np.ndarray:
    """Map grades of a query, or of an intent, to gains: 0 where they are not above 0.

    `grades` may have any shape; `collection` is the highest grade of all queries.
    """
    highest = highest_of(q, collection, grades[grades > 0])
    return positive_gains(measure, grades, q, highest)


def define(
    measure: Gains,
    arrays: Callable[[Parameters, Judgments], dict[str, Any]],
    kernel: Callable[..., Any],
    twin: Callable[[Case], float],
    *,
    kinds: bool = False,
    sharp: bool = False,
    **texts: Any,
) -> Definition:
    """Define a measure of several intents that is derived from a graded one.

    Args:
        measure: the graded one.
        arrays: gives what the kernel takes of each query, of parameters and judgments.
        kernel: scores one run and query.
        twin: scores a case plainly.
        kinds: whether it tells navigational intents from others.
        sharp: whether it is mixed with intent recall.
        **texts: of the definition.
    """
    scored = _sharp(kernel) if sharp else kernel

    def tensors(q: Parameters, judgments: Judgments) -> ListTensors:
        grades, by_query = judged(judgments), arrays(q, judgments)
        if sharp:
            by_query = {
                query: (served(relevance), by_query[query])
                for query, relevance in grades.relevance.items()
            }
        more = {"void": void(grades), "notes": notes_of(judgments) if kinds else ()}
        also = (GAMMA.name,) if sharp else ()
        return measure.lists(q, grades.docs, by_query, scored, also, **more)

    needs = frozenset({"intent_qrels", "intents"} if kinds else {"intent_qrels"})
    return Definition(
        parameters=(*measure.parameters, PROBABILITIES, *((GAMMA,) if sharp else ())),
        needs=lambda q: needs,
        tensors=tensors,
        twin=partial(twins.sharp, twin) if sharp else twin,
        cutoff="may",
        **texts,
    )


@cache
def _sharp(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Mix the score of a kernel with intent recall."""

    def mixed(ranked: RankedList, query: tuple[kernels.Served, Any], q: Parameters):
        served, rest = query
        recall = kernels.recall(
            kernels.gains_of(served.relevance, ranked), served.intents
        )
        return kernels.mixed(q["gamma"], recall, kernel(ranked, rest, q))

    return mixed
