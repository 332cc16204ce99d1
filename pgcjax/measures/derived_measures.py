"""Measures of several intents that are derived from graded ones, by a definition."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

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


class Base(NamedTuple):
    """A graded measure that others are made of: its name, and how it scores gains."""

    name: str
    gains: Gains


# With gains of more than one height, so that they can be those for all intents.
GRADED = (
    Base("CG", graded.CG_GAINS),
    Base("DCG", graded.DCG_GAINS),
    Base("nDCG", graded.NDCG_GAINS),
    Base("MSnDCG", graded.MSNDCG_GAINS),
    Base("ERR", graded.ERR_GAINS),
    Base("nERR", graded.NERR_GAINS),
    Base("Q", graded.Q_GAINS),
    Base("P+", graded.P_PLUS_GAINS),
    Base("O", graded.O_GAINS),
    Base("RBP", binary.RBP_GAINS),
)
BINARY = (
    Base("AP", binary.AP_GAINS),
    Base("RR", binary.RR_GAINS),
    Base("P", binary.P_GAINS),
    Base("R", binary.R_GAINS),
)


def gains_of(
    measure: Gains, grades: np.ndarray, q: Parameters, collection: float
) -> np.ndarray:
    """Map grades of a query, or of an intent, to gains: 0 where they are not above 0.

    Args:
        measure: whose gains.
        grades: of documents; any shape.
        q: parameters.
        collection: highest grade of all queries.
    """
    highest = highest_of(q, collection, grades[grades > 0])
    return positive_gains(measure, grades, q, highest)


class Derived(NamedTuple):
    """How a measure of several intents is computed.

    Attributes:
        arrays: gives what the kernel takes of each query, of parameters and judgments.
        kernel: scores one run and query.
        twin: scores a case plainly.
        kinds: whether it tells navigational intents from others.
    """

    arrays: Callable[[Parameters, Judgments], dict[str, Any]]
    kernel: Callable[..., Any]
    twin: Callable[[Case], float]
    kinds: bool


def define(
    measure: Gains, derived: Derived, *, sharp: bool = False, **texts: Any
) -> Definition:
    """Define a measure derived from a graded one, mixed with intent recall or not."""
    kernel = _sharp(derived.kernel) if sharp else derived.kernel

    def tensors(q: Parameters, judgments: Judgments) -> ListTensors:
        grades, arrays = judged(judgments), derived.arrays(q, judgments)
        if sharp:
            arrays = {
                query: kernels.Sharp(served(relevance), arrays[query])
                for query, relevance in grades.relevance.items()
            }
        notes = notes_of(judgments) if derived.kinds else ()
        docs = grades.docs
        return measure.lists(q, docs, arrays, kernel, void=void(grades), notes=notes)

    needs = frozenset(
        {"intent_qrels", "intents"} if derived.kinds else {"intent_qrels"}
    )
    return Definition(
        parameters=(*measure.parameters, PROBABILITIES, *((GAMMA,) if sharp else ())),
        needs=lambda q: needs,
        tensors=tensors,
        twin=partial(twins.sharp, derived.twin) if sharp else derived.twin,
        cutoff="may",
        **texts,
    )


@cache
def _sharp(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Mix the score of a kernel with intent recall."""

    def mixed(ranked: RankedList, query: kernels.Sharp, q: Parameters):
        hit = kernels.gains_of(query.served.relevance, ranked)
        recall = kernels.recall(hit, query.served.intents)
        return kernels.mixed(q["gamma"], recall, kernel(ranked, query.rest, q))

    return mixed
