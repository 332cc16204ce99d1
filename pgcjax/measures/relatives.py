"""How measures of several intents are made of graded ones, with I-rec or without."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pgcjax.kernels import diversity as kernels
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.measures import binary, graded
from pgcjax.measures.gains import Gains, highest_of
from pgcjax.measures.intents import (
    GAMMA,
    PROBABILITIES,
    Parameters,
    judged,
    notes_of,
    void,
)
from pgcjax.measures.spec import Case, Definition
from pgcjax.reference import intents as twins
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

Arrays = Mapping[str, Any]
OfQueries = dict[str, dict[str, Any]]


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
    gains, some = np.zeros(grades.shape), grades > 0
    highest = highest_of(q, collection, grades[some])
    gains[some] = measure.gains(grades[some], q, highest)
    return gains


IDEAL = "ideal."
"""What stands before the names of what a measure knows of an ideal list."""


def of_ideal(arrays: Arrays, prefix: str = IDEAL) -> dict[str, Any]:
    """Pick what a measure knows of an ideal list."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


class Made(NamedTuple):
    """How a measure of several intents is computed.

    Attributes:
        arrays: what is known of each query, of parameters and judgments.
        kernel: scores one run and query.
        twin: scores a case plainly.
        kinds: whether it looks at the kinds of intents.
    """

    arrays: Callable[[Parameters, Judgments], OfQueries]
    kernel: Callable[..., Any]
    twin: Callable[[Case], float]
    kinds: bool


def define(
    measure: Gains, made: Made, *, sharp: bool = False, **texts: Any
) -> Definition:
    """Define a measure that is made of a graded one, with intent recall or without."""
    kernel = _sharp(made.kernel) if sharp else made.kernel

    def tensors(q: Parameters, judgments: Judgments) -> ListTensors:
        grades, arrays = judged(judgments), made.arrays(q, judgments)
        if sharp:
            for query, relevance in grades.relevance.items():
                arrays[query]["relevance"] = relevance
                arrays[query]["intents"] = float(len(relevance))
        return ListTensors(
            grades.docs,
            arrays,
            kernel,
            depth=measure.depth(q),
            by_rank=partial(measure.by_rank, q) if measure.by_rank else None,
            void=void(grades),
            notes=notes_of(judgments) if made.kinds else (),
        )

    needs = frozenset({"intent_qrels", "intents"} if made.kinds else {"intent_qrels"})
    return Definition(
        parameters=(*measure.parameters, PROBABILITIES, *((GAMMA,) if sharp else ())),
        needs=lambda q: needs,
        tensors=tensors,
        twin=partial(twins.sharp, made.twin) if sharp else made.twin,
        cutoff="may",
        **texts,
    )


@cache
def _sharp(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Mix the score of a kernel with intent recall."""

    def mixed(seen: RankedList, arrays: Arrays, q: Parameters):
        hit = kernels.gains_of(arrays["relevance"], seen)
        recall = kernels.recall(hit, arrays["intents"])
        return kernels.mixed(q["gamma"], recall, kernel(seen, arrays, q))

    return mixed
