"""Measures of gains: the gain of a document by its grade, and the score of a list."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from inspect import getattr_static
from math import inf, log2
from typing import Annotated, Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64

from pgcjax.errors import DataError
from pgcjax.io.schema import lenient_number
from pgcjax.kernels.graded import QueryGains
from pgcjax.kernels.ranked_list import RankedList, picked
from pgcjax.later import Array, jnp
from pgcjax.measures.measure import Case, Measure, Parameter, read_through
from pgcjax.reference import gains as twins
from pgcjax.tensors.gains import grades_of
from pgcjax.tensors.judgments import Judgments
from pgcjax.tensors.measure_tensors import ListTensors

_LARGEST = 1000  # exponent: millions of 2^1000 add up without overflow

Gain = Annotated[
    str,
    Parameter(
        "one of linear (the grade g, as trec_eval), exp (2^g - 1)",
        allowed=("linear", "exp"),
    ),
]
Beta = Annotated[
    float,
    Parameter(
        "weight of gains against counts, a number from 0 up; 0 treats all relevant "
        "documents alike",
        valid=lambda beta: 0 <= beta < inf,
    ),
]
Rel = Annotated[
    float,
    Parameter(
        "lowest grade that is relevant, a number above 0",
        valid=lambda rel: 0 < rel < inf,
    ),
]
Gmax = Annotated[
    str,
    Parameter(
        "highest grade, one of collection (of all queries in the qrels), topic (of "
        "the query), or a number above 0",
        valid=lambda gmax: (
            gmax in ("collection", "topic") or 0 < lenient_number(gmax) < inf
        ),
    ),
]


class ListMeasure(Measure):
    """A measure of ranked lists, whose kernel scores one run and query."""

    @property
    def depth(self) -> int | None:
        """Last rank that counts; None if all do."""
        return None if self.k is None else int(self.k)

    def weights(self, depth: int) -> Float64[np.ndarray, " depth_plus_1"]:
        """Return the weights of ranks 0 (nothing) to `depth`."""
        return np.zeros(1)

    def kernel(self, run: RankedList, query: Any, /) -> Any:
        """Score one run and query. Numbers of `self` are traced."""
        raise NotImplementedError

    def lists(
        self,
        docs: Mapping[str, np.ndarray],
        arrays: Mapping[str, Any],
        kernel: Any = None,
        **more: Any,
    ) -> ListTensors:
        """Return the input of a batch, with this measure's depth and rank weights."""
        kernel = kernel or type(self).kernel
        return ListTensors(docs, arrays, kernel, self.depth, self.weights, **more)


class Graded(ListMeasure):
    """A measure of the gains of a run's documents.

    Derived measures use its parts: ERR-IA is the ERR of each intent, D-nDCG the nDCG of
    gains from all intents.

    Attributes:
        of_all_queries: Whether queries without a gain have a score, too.
    """

    cutoff = "may"
    of_all_queries: ClassVar[bool] = False

    def gains(
        self, grades: Float64[np.ndarray, " n"], highest: float
    ) -> Float64[np.ndarray, " n"]:
        """Return the gain of each grade.

        Args:
            grades: Grades above 0.
            highest: Highest grade of the collection; of the query where `gmax=topic`.
        """
        return grades

    def ideal(self, gains: Float64[np.ndarray, " n"]) -> Any:
        """Compute the `ideal` argument of `score` from all gains of a query.

        It is a number, or a tuple of arrays.
        """
        return ()

    def score(
        self, gain: Float[Array, " w"], run: RankedList, ideal: Any
    ) -> Float[Array, ""]:
        """Score the gains of a run's documents. Numbers of `self` are traced."""
        raise NotImplementedError

    def plain_gain(self, grade: float, highest: float) -> float:
        """Return the gain of a grade above 0, independently of `gains`."""
        return grade

    def plain_score(self, run: list[float], pool: list[float]) -> float:
        """Score gains of a run's and of all documents, independently of `score`."""
        raise NotImplementedError

    def prepare(self, judgments: Judgments) -> ListTensors:
        """Lay out the gains of plain qrels."""
        makers = _gains_of_qrels, _ideals_of_qrels
        each, best = gains_and_ideals(self, self.parameters, judgments, *makers)
        arrays = {query: QueryGains(gain, best[query]) for query, gain in each.items()}
        void = [query for query, gain in each.items() if not gain.any()]
        docs = grades_of(judgments).docs
        return self.lists(docs, arrays, void=[] if self.of_all_queries else void)

    def kernel(self, run: RankedList, query: QueryGains) -> Float[Array, ""]:
        """Score one run and query."""
        gain = jnp.where(run.where, picked(query.gain, run.vertex), 0.0)
        return self.score(gain, run, query.ideal)

    def twin(self, case: Case) -> float:
        """Score a case plainly."""
        return twins.of_qrels(self.plain_gain, self.plain_score, case)


class Relevant(Graded):
    """A measure of relevant documents, all alike."""

    rel: Rel = 1.0

    def gains(self, grades, highest):
        """Return 1 for grades of at least `rel`, else 0."""
        return relevance(grades, self.rel)

    def ideal(self, gains: Float64[np.ndarray, " n"]) -> Any:
        """Count the relevant documents."""
        return float((gains > 0).sum())

    def plain_gain(self, grade, highest):
        """Return 1 from the grade `rel` on."""
        return float(grade >= self.rel)


_TEXTS = {"name", "meaning", "source", "formula", "differs", "cutoff", "aliases"}
_SCORING = {"score", "kernel", "plain_gain", "plain_score", "twin", "prepare", "needs"}
_SCORING |= {"of_all_queries"}


def gains_and_ideals(
    measure: Graded,
    values: Mapping[str, Any],
    judgments: Judgments,
    gains: Callable[[Any, Mapping[str, Any], Judgments], dict[str, Any]],
    ideals: Callable[[Any, dict[str, Any]], dict[str, Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compute gains and ideal lists once for all measures that have the same.

    Args:
        measure: Measure whose `gains` and `ideal` are used.
        values: Its parameters by name, and those of a measure that is derived from it.
        judgments: Judgments of all queries.
        gains: Function of a view of the measure, the parameters and the judgments.
        ideals: Function of a view of the measure and the gains.

    Returns:
        What `gains` and `ideals` return: a dict by query each.
    """
    kind = type(measure)

    def each(seen: Mapping[str, Any]) -> dict[str, Any]:
        return gains(read_through(measure, seen), seen, judgments)

    def every(seen: Mapping[str, Any]) -> dict[str, Any]:
        return judgments.once_for((gains, _makes_gains(kind)), seen, each)

    def best(seen: Mapping[str, Any]) -> dict[str, Any]:
        return ideals(read_through(measure, seen), every(seen))

    key = ideals, _makes_ideals(kind)
    return every(values), judgments.once_for(key, values, best)


def _gains_of_qrels(
    measure: Graded, values: Mapping[str, Any], judgments: Judgments
) -> dict[str, np.ndarray]:
    del values
    judged = grades_of(judgments)
    return {
        query: measure.gains(grades, highest_of(measure, judged.highest, grades))
        for query, grades in judged.relevance.items()
    }


def _ideals_of_qrels(measure: Graded, gains: dict[str, np.ndarray]) -> dict[str, Any]:
    return {query: measure.ideal(gain) for query, gain in gains.items()}


@cache
def _makes_ideals(kind: type[Graded]) -> frozenset[tuple[str, Any]]:
    """Return a key of measures that compute the same from a query's ideal list.

    It has all members of the class except texts, parameters and scoring, because
    `ideal` may call any other method.
    """
    apart = _TEXTS | _SCORING | {each.name for each in fields(kind)}
    names = [n for n in dir(kind) if not n.startswith("__") and n not in apart]
    return frozenset((name, getattr_static(kind, name)) for name in names)


@cache
def _makes_gains(kind: type[Graded]) -> frozenset[tuple[str, Any]]:
    """Return a key of measures that have the same gains; see `_makes_ideals`."""
    return frozenset(x for x in _makes_ideals(kind) if x[0] not in ("ideal", "weights"))


def relevance(grades: np.ndarray, rel: float) -> np.ndarray:
    """Return 1 for grades of at least `rel`, else 0."""
    return np.where(grades >= rel, 1.0, 0.0)


def highest_of(measure: Any, collection: float, of_query: np.ndarray) -> float:
    """Return the highest grade, of the query if the measure's `gmax` is `topic`.

    Args:
        measure: Measure; without a parameter `gmax`, the collection's grade is used.
        collection: Highest grade of all queries.
        of_query: Grades of the query.
    """
    if getattr(measure, "gmax", "") == "topic":
        return float(np.max(of_query, initial=0))
    return collection


def given_or(gmax: str, highest: float, grades: np.ndarray) -> float:
    """Return `gmax` if it is a number, else `highest`.

    Raises:
        DataError: a grade is above a given `gmax`.
    """
    if (given := lenient_number(gmax)) != given:
        return highest
    if (most := float(np.max(grades, initial=0))) > given:
        raise DataError(
            f"grade {most:g} is above gmax={gmax}",
            where="qrels",
            mend="Give the highest grade there is, or gmax=collection.",
        )
    return given


def mapped(grades: np.ndarray, gain: str = "linear") -> np.ndarray:
    """Map grades to gains as the parameter `gain` says.

    Raises:
        DataError: gains are so large that their sums might overflow.
    """
    exponential = gain == "exp"
    most = float(np.max(grades, initial=0))
    if most > (_LARGEST if exponential else 2.0**_LARGEST):
        smaller = "gain=linear, or smaller" if exponential else "smaller"
        raise DataError(
            f"grade {most:g} gains more than can be added up",
            where="qrels",
            mend=f"Choose {smaller} grades.",
        )
    return np.exp2(grades) - 1 if exponential else grades


def positive_gains(measure: Any, grades: np.ndarray, highest: float) -> np.ndarray:
    """Map grades of any shape to gains; grades up to 0 have gain 0."""
    gains, positive = np.zeros(grades.shape), grades > 0
    gains[positive] = measure.gains(grades[positive], highest)
    return gains


def by_one(depth: int) -> np.ndarray:
    """Weight all ranks by 1."""
    return np.append(0.0, np.ones(depth))


@cache
def by_log(depth: int) -> np.ndarray:
    """Discount ranks by 1 / log2(1 + rank)."""
    table = np.array([0.0, *(1 / log2(1 + r) for r in range(1, depth + 1))])
    table.flags.writeable = False
    return table


def by_power(p: float, depth: int) -> np.ndarray:
    """Discount ranks by p^(rank - 1)."""
    return np.array([0.0, *(p**rank for rank in range(depth))])


def by_reciprocal(depth: int) -> np.ndarray:
    """Discount ranks by 1 / rank."""
    return np.append(0.0, 1 / np.arange(1, depth + 1))
