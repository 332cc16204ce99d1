"""Graded measures: from the gains of documents, and the ranks where a run has them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from pgcjax.kernels import gain as kernels
from pgcjax.kernels.seen import Seen
from pgcjax.measures.cases import grades_of
from pgcjax.measures.spec import Case, Definition, Parameter
from pgcjax.reference import graded as twins
from pgcjax.tensors.gains import Grades, grades
from pgcjax.tensors.judgments import Judgments, Lists

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Gains:
    """How a measure scores a list of gains: what its relatives are made of, too.

    ERR-IA is the ERR of each intent, D-nDCG the nDCG of gains from all intents, and so
    on: they take these three apart.

    Attributes:
        gains: of grades `[n]` above 0, `(grades, parameters, highest)`: float64 `[n]`;
            `highest` is the highest grade of the collection.
        ideal: what the kernel needs to know of all gains of a query, by name:
            `(gains, parameters)`.
        kernel: `(gain, seen, ideal, parameters)` scores one run and query; `gain` `[w]`
            is that of the documents in `seen`.
        by_rank: weights of ranks 0..depth, `(parameters, depth)`, or None.
        depth: last rank that counts, of parameters; None if all do.
        twin: the same plainly: `(gains of the run's documents in order, all gains,
            parameters)`.
    """

    gains: Callable[[np.ndarray, Parameters, float], np.ndarray]
    ideal: Callable[[np.ndarray, Parameters], dict[str, Any]]
    kernel: Callable[[Any, Seen, Mapping[str, Any], Parameters], Any]
    by_rank: Callable[[Parameters, int], np.ndarray] | None
    twin: Callable[[list[float], list[float], Parameters], float]
    depth: Callable[[Parameters], int | None] = lambda q: q["k"]


GAIN = Parameter(
    "gain",
    "linear",
    "one of linear (the grade g, as trec_eval), exp (2^g - 1)",
    allowed=("linear", "exp"),
)


def mapped(grades: np.ndarray, q: Parameters, highest: float) -> np.ndarray:
    """Map grades to gains as the parameter `gain` says."""
    return np.exp2(grades) - 1 if q["gain"] == "exp" else grades


def by_log(q: Parameters, depth: int) -> np.ndarray:
    """Discount ranks by 1 / log2(1 + rank)."""
    return np.append(0, 1 / np.log2(np.arange(2, depth + 2)))


def of_qrels(measure: Gains, q: Parameters, judgments: Judgments) -> Lists:
    """Give what scoring batches for a measure of plain qrels."""
    judged: Grades = judgments.once(grades, "qrels")
    arrays = {}
    for query, relevance in judged.relevance.items():
        gain = measure.gains(relevance, q, judged.highest)
        arrays[query] = {"gain": gain, **measure.ideal(gain, q)}
    return Lists(
        judged.docs,
        arrays,
        on_gains(measure),
        depth=measure.depth(q),
        by_rank=partial(measure.by_rank, q) if measure.by_rank else None,
        void=[query for query, docs in judged.docs.items() if not len(docs)],
    )


@cache
def on_gains(measure: Gains) -> Callable[..., Any]:
    """Make a kernel of ranked lists of a measure of gains."""

    def kernel(seen: Seen, arrays: Mapping[str, Any], q: Parameters):
        gain = jnp.where(seen.where, arrays["gain"][seen.vertex], 0.0)
        return measure.kernel(gain, seen, arrays, q)

    return kernel


def twin_of(measure: Gains, case: Case) -> float:
    """Score a case by the plain twin of a measure of plain qrels."""
    q, grade = case.parameters, grades_of(case.judged["qrels"])
    highest = max(0.0, case.tables["qrels"]["relevance"].max())

    def gain(doc: str) -> float:
        relevance = grade.get(doc, 0.0)
        if relevance <= 0:
            return 0.0
        return float(measure.gains(np.array([relevance]), q, highest)[0])

    return measure.twin([gain(d) for d in case.run], [gain(d) for d in grade], q)


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
        twin=lambda case: twin_of(measure, case),
        **{"cutoff": "may", **more},
    )


def _best(gains: np.ndarray, q: Parameters) -> dict[str, Any]:
    ordered = -np.sort(-gains)[: q["k"]]
    return {"best": float(sum(ordered * by_log(q, len(ordered))[1:]))}


NDCG_GAINS = Gains(
    gains=mapped,
    ideal=_best,
    kernel=lambda gain, seen, ideal, q: kernels.normalized(gain, seen, ideal),
    by_rank=by_log,
    twin=lambda run, pool, q: twins.ndcg(run, pool, q["k"]),
)
NDCG = define(
    "nDCG",
    "Discounted cumulative gain, divided by that of the ideal list",
    (GAIN,),
    NDCG_GAINS,
    source="Järvelin and Kekäläinen 2002, as in Luo 2021, equations 2.1 and 2.2",
    formula="DCG@k / ideal DCG@k, DCG@k = sum over ranks r <= k of g(r) / log2(1 + r)",
    differs="",
    aliases={"ndcg_cut_{k}": "nDCG@{k}"},
)
