"""Ranks of the relevant documents of a query in runs: rankings are compared by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int32

from pgcjax.kernels import ABSENT
from pgcjax.later import pd
from pgcjax.tensors.flat_runs import Retrieved
from pgcjax.tensors.gains import grades
from pgcjax.tensors.intents import IntentGrades
from pgcjax.tensors.padding import padded_size


class Level(NamedTuple):
    """Targets of a query: relevant documents, or intents.

    Attributes:
        served: which documents serve: bool `[documents]`, each of them found by itself;
            or `[targets, documents]`, each target found with the first of its own.
        size: how many there are to find.
        weight: of the level among those of the query.
    """

    served: Bool[np.ndarray, "*targets documents"]
    size: int
    weight: float

    def positions(
        self, retrieved: Retrieved, runs: np.ndarray
    ) -> Int32[np.ndarray, "runs width"]:
        """Return the ranks, from 1 and ascending, at which runs find one, two, ….

        Args:
            retrieved: the documents of the query.
            runs: which runs, in the order of the rows.

        Returns:
            `ABSENT` where a run finds no more; as wide as the run that finds most.
        """
        run = retrieved.run
        if self.served.ndim == 1:
            keep = np.flatnonzero(self.served[retrieved.vertex])
            run, rank = run[keep], retrieved.rank[keep]
        else:  # the first of each target; best documents come first
            target, doc = np.nonzero(self.served[:, retrieved.vertex])
            _, first = np.unique(
                target * len(retrieved.starts) + run[doc], return_index=True
            )
            run, rank = run[doc[first]], retrieved.rank[doc[first]]
            by = np.lexsort((rank, run))
            run, rank = run[by], rank[by]
        count = np.bincount(run, minlength=len(retrieved.starts) - 1)
        place = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
        positions = np.full((len(count), int(count.max(initial=0))), ABSENT, np.int32)
        positions[run, place] = rank + 1
        return positions[runs]


@dataclass(frozen=True)
class Levels:
    """Targets of all queries.

    Attributes:
        docs: documents of each query that count; queries ascending.
        of_query: levels of each query; none where nothing is to be found.
    """

    docs: Mapping[str, np.ndarray]
    of_query: Mapping[str, Sequence[Level]]


def padded(
    positions: Int32[np.ndarray, "runs width"], multiple: int
) -> Int32[np.ndarray, "padded_runs padded_width"]:
    """Pad to a multiple of runs, by those that find nothing, and to a padded width."""
    count, width = positions.shape
    shape = -(-count // multiple) * multiple, padded_size(width)
    out = np.full(shape, ABSENT, np.int32)
    out[:count, :width] = positions
    return out


def document_levels(qrels: pd.DataFrame, *, rel: float) -> Levels:
    """Take documents of grade `rel` or more; by 0, a level for each grade above 0.

    Its weight is the number of documents with that grade or a higher one.
    """
    relevant = grades(qrels)
    return Levels(
        relevant.docs,
        {query: _by_grade(g, rel) for query, g in relevant.relevance.items()},
    )


def covered_levels(intents: IntentGrades, *, rel: float) -> Levels:
    """Take intents, each found with the first of its documents of grade `rel` or more.

    By 0, there is a level for each grade, of weight: how many intents there are with
    a document of that grade or a higher one.
    """
    levels = {}
    for query, relevance in intents.relevance.items():
        of_query = []
        for level in _grades_of(relevance, rel):
            served = relevance >= level
            served = served[served.any(axis=1)]
            if len(served):
                of_query.append(Level(served, len(served), float(len(served))))
        levels[query] = of_query
    return Levels(intents.docs, levels)


def intent_levels(
    intents: IntentGrades, weights: Mapping[str, np.ndarray], *, rel: float
) -> Levels:
    """Take the documents of each intent alone: levels as of `document_levels`.

    Those of an intent have its weight together.
    """
    levels = {}
    for query, relevance in intents.relevance.items():
        of_query = []
        for row, weight in zip(relevance, weights[query], strict=True):
            each = _by_grade(row, rel) if weight > 0 else []
            total = sum(level.weight for level in each)
            of_query += [
                level._replace(weight=float(weight) * (level.weight / total))
                for level in each
            ]
        levels[query] = of_query
    return Levels(intents.docs, levels)


def _by_grade(relevance: Float64[np.ndarray, " documents"], rel: float) -> list[Level]:
    levels = ((relevance >= g) for g in _grades_of(relevance, rel))
    counted = ((served, int(served.sum())) for served in levels)
    return [Level(served, n, float(n)) for served, n in counted if n]


def _grades_of(relevance: np.ndarray, rel: float) -> list[float]:
    return [rel] if rel else np.unique(relevance[relevance > 0]).tolist()


def whole_weights(
    levels: Sequence[Level], weights: Sequence[Float64[np.ndarray, " count"]]
) -> tuple[list[Float64[np.ndarray, " count"]], float]:
    """Weigh the places of the levels of a query by whole numbers, with exact sums.

    Args:
        levels: of the query.
        weights: of the places of each level, above 0, before they are made to add up
            to the weight of the level.

    Returns:
        Weights of each level, each within 2^-52 of all weight of the exact one, and
        their sum, which is below 2^53.
    """
    parts = [
        level.weight * w / w.sum() for level, w in zip(levels, weights, strict=True)
    ]
    total = sum(float(part.sum()) for part in parts)
    scale = 2.0 ** (52 - np.ceil(np.log2(total)))
    whole = [np.rint(part * scale) for part in parts]
    return whole, float(sum(part.sum() for part in whole))
