"""How measures of gains are put together: for plain qrels, and for their relatives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import inf, log2
from typing import Any

import numpy as np

from pgcjax.errors import DataError
from pgcjax.io.schema import lenient_number
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.ranked_list import RankedList
from pgcjax.later import jnp
from pgcjax.measures.spec import Definition, Parameter
from pgcjax.reference import gains as twins
from pgcjax.tensors.gains import grades_of
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

Parameters = Mapping[str, Any]

_LARGEST = 1000  # 2^1000: millions of it add up to a float64


@dataclass(frozen=True)
class Gains:
    """How a measure scores a list of gains: what its relatives are made of, too.

    ERR-IA is the ERR of each intent, D-nDCG the nDCG of gains from all intents, and so
    on: they take these apart.

    Attributes:
        gains: of grades `[n]` above 0, `(grades, parameters, highest)`: float64 `[n]`;
            `highest` is the highest grade, by `highest_of`.
        ideal: what the kernel takes of the gains `[n]` of all documents of a query, a
            number or a tuple of arrays: `(gains, parameters)`.
        kernel: `(gain, ranked, ideal, parameters)` scores one run and query; `gain`
            `[w]` is that of the documents in `ranked`.
        by_rank: weights of ranks 0..depth, `(parameters, depth)`, or None.
        twin: the same plainly: `(gains of the run's documents in order, all gains,
            parameters)`.
        twin_gain: gives the twin its gains, one at a time, by code of its own: of a
            grade above 0, `(grade, parameters, highest)`, `highest` being `gmax`.
        depth: last rank that counts, of parameters; None if all do.
        reads: names of the parameters that the kernel is given; None for all.
        parameters: of the measure, without its cutoff.
    """

    gains: Callable[[np.ndarray, Parameters, float], np.ndarray]
    kernel: Callable[[Any, RankedList, Any, Parameters], Any]
    twin: twins.Score
    twin_gain: twins.Gain = twins.grade
    ideal: Callable[[np.ndarray, Parameters], Any] = lambda gains, q: ()
    by_rank: Callable[[Parameters, int], np.ndarray] | None = None
    depth: Callable[[Parameters], int | None] = lambda q: q["k"]
    reads: tuple[str, ...] | None = None
    parameters: tuple[Parameter, ...] = ()

    def lists(
        self,
        q: Parameters,
        docs: Any,
        arrays: Any,
        kernel: Any,
        also: tuple[str, ...] = (),
        **more: Any,
    ) -> ListTensors:
        """Return what scoring batches, see `ListTensors`, of a kernel made of this one.

        `also` names the parameters that it reads beside those of this one.
        """
        reads = None if self.reads is None else (*self.reads, *also)
        how = {"depth": self.depth(q), "reads": reads}
        by_rank = partial(self.by_rank, q) if self.by_rank else None
        return ListTensors(docs, arrays, kernel, by_rank=by_rank, **how, **more)


GAIN = Parameter(
    "gain",
    "linear",
    "one of linear (the grade g, as trec_eval), exp (2^g - 1)",
    allowed=("linear", "exp"),
)
BETA = Parameter(
    "beta",
    1.0,
    "weight of gains against counts, a number from 0 up; 0 takes all relevant "
    "documents for equal",
    valid=lambda beta: 0 <= beta < inf,
)
REL = Parameter(
    "rel",
    1.0,
    "lowest grade that is relevant, a number above 0",
    valid=lambda rel: 0 < rel < inf,
)
GMAX = Parameter(
    "gmax",
    "collection",
    "highest grade, one of collection (of all queries in the qrels), topic (of the "
    "query), or a number above 0",
    valid=lambda gmax: (
        gmax in ("collection", "topic") or 0 < lenient_number(gmax) < inf
    ),
)


def highest_of(q: Parameters, collection: float, of_query: np.ndarray) -> float:
    """Choose the highest grade as the parameter `gmax` says.

    Args:
        q: parameters; without `gmax` it is that of the collection.
        collection: highest grade of all queries.
        of_query: grades of the query.
    """
    if q.get("gmax") == "topic":
        return float(np.max(of_query, initial=0))
    return collection


def given_or(q: Parameters, highest: float, grades: np.ndarray) -> float:
    """Return `gmax` if it is a number, else the highest grade that was chosen.

    Raises:
        DataError: a grade is above a given `gmax`.
    """
    if (given := lenient_number(str(q.get("gmax")))) != given:
        return highest
    if (most := float(np.max(grades, initial=0))) > given:
        raise DataError(
            f"grade {most:g} is above gmax={q['gmax']}",
            where="qrels",
            mend="Give the highest grade there is, or gmax=collection.",
        )
    return given


def mapped(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Map grades to gains as the parameter `gain` says.

    Raises:
        DataError: gains are so large that their sums might not be numbers.
    """
    exponential = q["gain"] == "exp"
    most = float(np.max(grades, initial=0))
    if most > (_LARGEST if exponential else 2.0**_LARGEST):
        smaller = "gain=linear, or smaller" if exponential else "smaller"
        raise DataError(
            f"grade {most:g} gains more than can be added up",
            where="qrels",
            mend=f"Choose {smaller} grades.",
        )
    return np.exp2(grades) - 1 if exponential else grades


def relevant(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Return 1 for grades of at least `rel`, else 0."""
    return np.where(grades >= q["rel"], 1.0, 0.0)


def positive_gains(
    measure: Gains, grades: np.ndarray, q: Parameters, highest: float
) -> np.ndarray:
    """Map grades of any shape to gains, and those up to 0 to 0."""
    gains, positive = np.zeros(grades.shape), grades > 0
    gains[positive] = measure.gains(grades[positive], q, highest)
    return gains


def by_one(q: Parameters, depth: int) -> np.ndarray:
    """Take all ranks alike."""
    return np.append(0.0, np.ones(depth))


def by_log(q: Parameters, depth: int) -> np.ndarray:
    """Discount ranks by 1 / log2(1 + rank), or as the parameter `discount` says."""
    if q.get("discount") == "original":
        return np.array([0.0, 1.0, *(1 / log2(r) for r in range(2, depth + 1))])
    return _by_log(depth)


@cache
def _by_log(depth: int) -> np.ndarray:
    table = np.array([0.0, *(1 / log2(1 + r) for r in range(1, depth + 1))])
    table.flags.writeable = False
    return table


def by_reciprocal(q: Parameters, depth: int) -> np.ndarray:
    """Discount ranks by 1 / rank."""
    return np.append(0.0, 1 / np.arange(1, depth + 1))


def of_qrels(measure: Gains, q: Parameters, judgments: Judgments) -> ListTensors:
    """Return what scoring batches for a measure of plain qrels."""
    judged = grades_of(judgments)

    def gains(q: Parameters) -> dict[str, np.ndarray]:
        return {
            query: measure.gains(grades, q, highest_of(q, judged.highest, grades))
            for query, grades in judged.relevance.items()
        }

    def ideals(q: Parameters) -> dict[str, Any]:
        every = judgments.once_for(measure.gains, q, gains)
        return {query: measure.ideal(gain, q) for query, gain in every.items()}

    each = judgments.once_for(measure.gains, q, gains)
    best = judgments.once_for((measure.gains, measure.ideal), q, ideals)
    arrays = {query: QueryGains(gain, best[query]) for query, gain in each.items()}
    void = [query for query, gain in each.items() if not gain.any()]
    return measure.lists(q, judged.docs, arrays, on_gains(measure), void=void)


def on_gains(measure: Gains) -> Callable[..., Any]:
    """Make a kernel of ranked lists of a measure of gains."""
    return _on_lists(measure.kernel)


@cache
def _on_lists(score: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(ranked: RankedList, query: QueryGains, q: Parameters):
        gain = jnp.where(ranked.where, query.gain[ranked.vertex], 0.0)
        return score(gain, ranked, query.ideal, q)

    return kernel


def define(
    name: str, meaning: str, parameters: tuple[Parameter, ...], measure: Gains, **more
) -> Definition:
    """Define a graded measure of plain qrels."""
    return Definition(
        name=name,
        meaning=meaning,
        parameters=parameters,
        needs=lambda q: frozenset({"qrels"}),
        tensors=lambda q, judgments: of_qrels(measure, q, judgments),
        twin=partial(twins.of_qrels, measure.twin_gain, measure.twin),
        **{"cutoff": "may", **more},
    )
